/// How a list asks for its pages, and how it knows its end.
public protocol PageStrategy: Sendable {
    /// Where the first page stands.
    var start: PagePosition { get }

    /// The parameters that ask for the page at `position`.
    ///
    /// - Throws: ``PageStrategyError`` when the strategy's own settings make no sense; the load fails with `paramsError`.
    func params(at position: PagePosition) throws(PageStrategyError) -> APIParams

    /// Where the page behind this one stands; `nil` when this was the last.
    func position(after page: PageFacts) -> PagePosition?
}

/// Where a page stands in its list, in the terms of the strategy.
public enum PagePosition: Sendable, Hashable {
    /// The number of the page.
    case number(Int)
    /// The number of items in front of the page.
    case offset(Int)
}

/// What a strategy may know of a page that has come.
public struct PageFacts: Sendable {
    /// Where the page stands.
    public let position: PagePosition
    /// How many items the server sent in it.
    public let itemCount: Int
    /// How many items the whole list has, if the page told.
    public let totalItems: Int?
    /// How many pages the whole list has, if the page told.
    public let totalPages: Int?
    /// The raw answer.
    public let response: APIResponse
}

/// Why a strategy cannot ask for a page.
public struct PageStrategyError: Error, CustomStringConvertible {
    /// What is wrong, for the developer.
    public let description: String

    /// Creates an error.
    public init(_ description: String) {
        self.description = description
    }
}
