import Foundation

/// Pages by a text that the server gives with each page for the next one: `cursor=YWZ0ZXI6MjA=`.
///
/// The first request names no cursor. The end is told by a page that gives none, or an empty one; an empty page alone tells
/// nothing, and neither do totals. A cursor is sent back byte by byte, encoded for where it goes. One that the list has come
/// by before is not asked for again: the next load fails with `decoding`.
public struct Cursor: PageStrategy {
    /// The name of the parameter for the cursor.
    public var parameter: String
    /// Where a page tells the cursor of the next one.
    public var next: Source
    /// The name of the parameter for a cursor of a page in front; the same as ``parameter`` by default.
    public var previousParameter: String?
    /// Where a page tells the cursor of the page in front of it; `nil`, the default, if it does not.
    public var previous: Source?
    /// The cursor of the first request; `nil`, the default, sends none.
    public var first: String?
    /// The name of the parameter for the size; `nil`, the default, sends none.
    public var sizeKey: String?
    /// How many items a page has; at least 1.
    public var size = 20

    /// Creates the strategy.
    ///
    /// - Parameters:
    ///   - parameter: The name of the parameter for the cursor.
    ///   - next: Where a page tells the cursor of the next one.
    ///   - first: The cursor of the first request.
    ///   - sizeKey: The name of the parameter for the size.
    ///   - size: How many items a page has; sent where `sizeKey` is given.
    public init(
        _ parameter: String = "cursor",
        next: Source = .page,
        first: String? = nil,
        sizeKey: String? = nil,
        size: Int = 20
    ) {
        self.parameter = parameter
        self.next = next
        self.first = first
        self.sizeKey = sizeKey
        self.size = size
    }

    /// The beginning of the list, or the cursor that stands for it.
    public var start: PagePosition {
        first.map { .cursor($0, parameter: parameter) } ?? .start
    }

    /// The cursor, where there is one, and the size.
    public func params(at position: PagePosition) throws(PageStrategyError) -> APIParams {
        guard sizeKey == nil || size > 0 else {
            throw PageStrategyError("a page of \(size) items cannot be asked for")
        }
        var params: APIParams = [:]
        if let sizeKey { params[sizeKey] = size }
        switch position {
        case .start: break
        case .cursor(let cursor, let parameter): params[parameter] = cursor
        default: throw PageStrategyError("no cursor: \(position)")
        }
        return params
    }

    /// The cursor that the page gives, unless it is empty.
    public func position(after page: PageFacts) -> PagePosition? {
        position(next.read(page), parameter)
    }

    /// The cursor that the page gives for the page in front of it, unless it is empty.
    public func position(before page: PageFacts) -> PagePosition? {
        position(previous?.read(page), previousParameter ?? parameter)
    }

    private func position(_ cursor: String?, _ parameter: String) -> PagePosition? {
        guard let cursor, !cursor.isEmpty else { return nil }
        return .cursor(cursor, parameter: parameter)
    }
}

extension Cursor {
    /// Where a page tells a cursor.
    public struct Source: Sendable {
        let read: @Sendable (PageFacts) -> String?

        /// A place of one's own.
        ///
        /// - Parameter read: Called once for each page, on the main actor; `nil` is the end of the list.
        public init(_ read: @escaping @Sendable (PageFacts) -> String?) {
            self.read = read
        }

        /// The decoded page's ``PageResponse/nextCursor``.
        public static var page: Source { Source { $0.nextCursor } }

        /// The decoded page's ``PageResponse/previousCursor``.
        public static var previousOfPage: Source { Source { $0.previousCursor } }

        /// A line of the answer's header.
        public static func header(_ name: String) -> Source {
            Source { $0.response.headers[name] }
        }

        /// A text or a number in the answer's JSON, whatever the page's type knows of it: `.body("paging", "next")`.
        ///
        /// Reads the whole body, its envelope included, once more.
        public static func body(_ path: String...) -> Source {
            Source { page in
                let body = try? JSONValue(json: page.response.body)
                return path.reduce(body) { $0?[$1] }?.scalarText
            }
        }
    }
}

extension Cursor: CustomStringConvertible, CustomReflectable {
    /// The name of the parameter, without the cursor of the first request.
    public var description: String { "Cursor(\(parameter))" }

    /// The strategy as ``description`` has it, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: ["strategy": description]) }
}
