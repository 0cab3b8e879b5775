public import Foundation

/// A strategy of the library: `.pageNumber(size: 50)`, `.offset(limit: 50)`, `.cursor(…)` or `.link`.
public struct StandardPageStrategy: PageStrategy {
    private let base: any PageStrategy

    init(_ base: some PageStrategy) { self.base = base }

    /// The position of the page at which the list starts.
    public var start: PagePosition { base.start }

    /// Returns the parameters that request a page, apart from those that a link contains.
    public func params(at position: PagePosition) throws(PageStrategyError) -> APIParams {
        try base.params(at: position)
    }

    /// Returns the position of the next page, unless the page is the last.
    public func position(after page: PageInfo) throws(PageStrategyError) -> PagePosition? {
        try base.position(after: page)
    }

    /// Returns what the total of a list by number or offset leads to expect; `.more` for other strategies.
    public func expectation(after page: PageInfo) -> PageExpectation { base.expectation(after: page) }

    /// Returns the position of the previous page, if it is known.
    public func position(before page: PageInfo) throws(PageStrategyError) -> PagePosition? {
        try base.position(before: page)
    }

    /// Returns where a page of a list by number or offset begins after an edit; `nil` for other strategies.
    public func start(_ start: PageStart, movedBy count: Int, pageSize: Int) -> PageStart? {
        base.start(start, movedBy: count, pageSize: pageSize)
    }

    /// The origins, besides the service's, to which a link may lead.
    public var allowedOrigins: [URL] { base.allowedOrigins }
}

extension StandardPageStrategy: RedactedDescription {
    /// The strategy without cursors, and without the parts of a URL besides its origin.
    public var description: String { "\(base)" }
}
