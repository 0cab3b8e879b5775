import Foundation

/// One request as it arrived.
package struct RecordedRequest: Sendable {
    /// The request line and the header lines.
    package let head: RequestHead
    /// The decoded body, as far as its ``BodyHandling`` keeps it.
    package internal(set) var body: [UInt8] = []
    /// The number of bytes of the decoded body.
    package internal(set) var bodyCount: Int64 = 0
    /// The SHA-256 of the decoded body in hexadecimal; `nil` unless its ``BodyHandling`` computes it.
    package internal(set) var bodySHA256: String?
    /// The trailers of a chunked body.
    package internal(set) var trailers = HeaderLines()
    /// The number of its connection, counted from 1.
    package let connection: Int
    /// The number of the request on its connection, counted from 1.
    package let turn: Int
    /// When its last byte arrived.
    package internal(set) var arrival = ContinuousClock.now
    /// The values of the route's placeholders, percent-decoded.
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
    /// The header lines in their order, including duplicates.
    package var headers: HeaderLines { head.headers }

    /// Returns the first value of a header; the name matches in any case.
    package func header(_ name: StaticString) -> String? { head.header(name) }

    /// The body as text, with replacement characters where it is not UTF-8.
    package var text: String { String(decoding: body, as: UTF8.self) }

    /// Returns the body decoded from JSON.
    package func json<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
        try JSONDecoder().decode(type, from: Data(body))
    }

    /// The names and values of the query, decoded, in their order.
    package var queryItems: [FormItem] { FormItem.parse(query ?? "") }

    /// Returns the first value of a name in the query.
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

/// A name and its value, of a query, a form or a cookie line.
package struct FormItem: Sendable, Equatable, Codable {
    /// The decoded name.
    package let name: String
    /// The decoded value.
    package let value: String

    /// Parses `a=1&b=2` as the WHATWG form parser does.
    static func parse(_ text: String) -> [FormItem] {
        text.split(separator: "&").map { pair in
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return FormItem(name: decode(halves[0]), value: halves.count > 1 ? decode(halves[1]) : "")
        }
    }

    private static func decode(_ text: Substring) -> String {
        PercentCoding.decode(text.utf8.map { $0 == UInt8(ascii: "+") ? .space : $0 })
    }
}

/// Percent-encoding (RFC 3986 section 2.1); malformed triplets are not errors.
enum PercentCoding {
    /// Decodes every complete triplet and keeps all other text.
    static func decode(_ bytes: some Collection<UInt8>) -> String {
        var decoded: [UInt8] = []
        var rest = Array(bytes)[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
            guard byte == UInt8(ascii: "%"), digits.count == 2 else {
                decoded.append(byte)
                continue
            }
            decoded.append(UInt8(digits[0] * 16 + digits[1]))
            rest.removeFirst(2)
        }
        return String(decoding: decoded, as: UTF8.self)
    }
}
