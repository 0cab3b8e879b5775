import Foundation

/// One request as it came over the wire.
package struct RecordedRequest: Sendable {
    /// The request line and the header lines.
    package let head: RequestHead
    /// The decoded body, or as much of it as the server was told to keep.
    package internal(set) var body: [UInt8] = []
    /// How many bytes the decoded body had.
    package internal(set) var bodyCount: Int64 = 0
    /// The SHA-256 of the decoded body in hexadecimal, when the server was told to compute it.
    package internal(set) var bodySHA256: String?
    /// The header lines behind a chunked body.
    package internal(set) var trailers = HeaderLines()
    /// Which connection brought it, counted from 1.
    package let connection: Int
    /// Which request of that connection it is, counted from 1.
    package let turn: Int
    /// When its last byte had arrived.
    package internal(set) var arrival = ContinuousClock.now
    /// What the route's placeholders stood for, percent-decoded.
    package internal(set) var parameters: [String: String] = [:]

    init(head: RequestHead, connection: Int, turn: Int) {
        self.head = head
        self.connection = connection
        self.turn = turn
    }

    /// The method as it was written.
    package var method: String { head.method }
    /// The target as it was written: path and query, or an absolute URL, or an authority.
    package var target: String { head.target }
    /// The target's path as it was written, without scheme and host.
    package var path: String { head.path }
    /// The target's query as it was written, without the question mark.
    package var query: String? { head.query }
    /// The header lines in their order, duplicates kept.
    package var headers: HeaderLines { head.headers }

    /// The first value of a header, in any case.
    package func header(_ name: StaticString) -> String? { head.header(name) }

    /// The body as text, with replacement characters where it is not UTF-8.
    package var text: String { String(decoding: body, as: UTF8.self) }

    /// The body as JSON of a type.
    package func json<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
        try JSONDecoder().decode(type, from: Data(body))
    }

    /// The names and values of the query, decoded, in their order.
    package var queryItems: [FormItem] { FormItem.parse(query ?? "") }

    /// The first value of a name in the query.
    package func queryValue(_ name: String) -> String? { queryItems.first { $0.name == name }?.value }

    /// The names and values of a form body, decoded, in their order.
    package var formItems: [FormItem] { FormItem.parse(text) }

    /// The cookies of every `Cookie` line, in their order.
    package var cookies: [FormItem] {
        headers.values("Cookie").flatMap { $0.split(separator: ";") }.map { pair in
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = halves[0].trimmingCharacters(in: .whitespaces)
            return FormItem(name: name, value: halves.count > 1 ? String(halves[1]) : "")
        }
    }
}
