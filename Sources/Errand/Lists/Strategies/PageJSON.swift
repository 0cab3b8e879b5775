import Foundation

/// The body of a page as JSON, which is parsed at most once for all that a strategy reads in it.
final class PageJSON: Sendable {
    typealias Parser = @Sendable (Data) throws -> JSONValue

    private let body: Data
    private let parse: Parser
    private let parsed = Lock<Result<JSONValue, any Error>?>(nil)

    init(_ body: Data, parse: @escaping Parser = { try JSONValue(json: $0) }) {
        self.body = body
        self.parse = parse
    }

    func value() throws -> JSONValue {
        if let known = parsed.withLock({ $0 }) { return try known.get() }
        let result = Result { try parse(body) }
        parsed.withLock { $0 = result }
        return try result.get()
    }

    /// The parsed body takes more memory than the page.
    func discard() {
        parsed.withLock { state in
            defer { state = nil }
            return state
        }
    }
}

extension PageInfo {
    /// `nil` for an empty body.
    func body(for name: String) throws(PageStrategyError) -> JSONValue? {
        guard !response.body.isEmpty else { return nil }
        do {
            return try json.value()
        } catch {
            throw PageStrategyError(
                "\(name) cannot be read, because the body is not JSON as in RFC 8259 and UTF-8: "
                    + "read it with a custom PageStrategy, from the page's nextCursor"
            )
        }
    }
}
