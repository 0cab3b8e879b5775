struct CursorStrategy: PageStrategy {
    var cursorKey = "cursor"
    var next: StandardPageStrategy.CursorSource = .nextCursor
    /// `nil` is ``cursorKey``.
    var previousCursorKey: String?
    /// `nil` if a page contains no cursor of the previous one.
    var previous: StandardPageStrategy.CursorSource?
    var startCursor: String?
    /// `nil` sends no size.
    var sizeKey: String?
    var size = 20

    var start: PagePosition {
        startCursor.map { .cursor($0, parameter: cursorKey) } ?? .start
    }

    func params(at position: PagePosition) throws(PageStrategyError) -> APIParams {
        guard sizeKey == nil || size > 0 else {
            throw PageStrategyError("a page of \(size) items cannot be requested")
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

    func position(after page: PageInfo) throws(PageStrategyError) -> PagePosition? {
        page.hasMore == false ? nil : position(of: try next.read(page), parameter: cursorKey)
    }

    func position(before page: PageInfo) throws(PageStrategyError) -> PagePosition? {
        position(of: try previous?.read(page), parameter: previousCursorKey ?? cursorKey)
    }

    private func position(of cursor: String?, parameter: String) -> PagePosition? {
        guard let cursor, !cursor.isEmpty else { return nil }
        return .cursor(cursor, parameter: parameter)
    }
}

extension StandardPageStrategy {
    /// Where a page contains a cursor.
    public struct CursorSource: Sendable {
        let read: @Sendable (PageInfo) throws(PageStrategyError) -> String?

        /// Creates a source from a function.
        ///
        /// - Parameter read: Returns the cursor, or `nil` at the end of the list. If it throws an error for the next page, the
        ///   next load fails with `decoding`, whose reason is the description of the error. Called on the main actor, more
        ///   than once for some pages, and not for others.
        public init(_ read: @escaping @Sendable (PageInfo) throws(PageStrategyError) -> String?) {
            self.read = read
        }

        /// The decoded page's ``PageResponse/nextCursor``.
        public static var nextCursor: CursorSource { CursorSource { $0.nextCursor } }

        /// The decoded page's ``PageResponse/previousCursor``.
        public static var previousCursor: CursorSource { CursorSource { $0.previousCursor } }

        /// A header of the response.
        public static func header(_ name: String) -> CursorSource {
            CursorSource { $0.response.headers[name] }
        }

        /// A string or a number in the response's JSON, for example `.body("paging", "next")`.
        ///
        /// `null`, `false`, an empty string, a missing member and an empty body mean the end of the list. With any other value,
        /// and with a body that is not JSON (RFC 8259) in UTF-8, the next load fails with `decoding`.
        ///
        /// Parses the whole body, including its envelope, once more on the main actor; the page's type need not contain the
        /// cursor.
        public static func body(_ path: String...) -> CursorSource {
            CursorSource { page throws(PageStrategyError) in
                let name = "the cursor at \(path.joined(separator: "."))"
                switch path.reduce(try page.body(for: name), { $0?[$1] }) {
                case nil, .null, .bool(false): return nil
                case .string(let text): return text
                case .bool, .array, .object: throw PageStrategyError("\(name) is neither a string nor a number")
                case let number?: return number.scalarText
                }
            }
        }
    }
}

extension CursorStrategy: RedactedDescription {
    /// The name of the parameter, without `startCursor`.
    var description: String { "CursorStrategy(\(cursorKey))" }
}

extension PageStrategy where Self == StandardPageStrategy {
    /// Pages by a cursor that the server sends with each page for the next one: `cursor=YWZ0ZXI6MjA=`.
    ///
    /// The first request has no cursor. The list ends with a page whose cursor is missing or empty; neither an empty page nor a
    /// total ends it. A cursor is sent back unchanged, encoded for the query or the body, and a number by its value. If the server
    /// sends a cursor that it has sent before, the next load fails with `decoding`.
    ///
    /// - Parameters:
    ///   - cursorKey: The name of the parameter for the cursor.
    ///   - next: Where a page contains the cursor of the next page.
    ///   - previousCursorKey: The name of the parameter for the cursor of a previous page; `nil` is `cursorKey`.
    ///   - previous: Where a page contains the cursor of the previous page; `nil`, the default, if it contains none.
    ///   - startCursor: The cursor at which the list starts.
    ///   - sizeKey: The name of the parameter for the size.
    ///   - size: The number of items to request per page; sent if there is a `sizeKey`.
    /// - Returns: The strategy.
    public static func cursor(
        _ cursorKey: String = "cursor",
        next: StandardPageStrategy.CursorSource = .nextCursor,
        previousCursorKey: String? = nil,
        previous: StandardPageStrategy.CursorSource? = nil,
        startCursor: String? = nil,
        sizeKey: String? = nil,
        size: Int = 20
    ) -> Self {
        Self(
            CursorStrategy(
                cursorKey: cursorKey,
                next: next,
                previousCursorKey: previousCursorKey,
                previous: previous,
                startCursor: startCursor,
                sizeKey: sizeKey,
                size: size
            )
        )
    }
}
