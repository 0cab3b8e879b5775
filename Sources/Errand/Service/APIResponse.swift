public import Foundation

/// The raw answer to one load, after redirects.
public struct APIResponse: Sendable {
    /// The URL that answered, after all redirects.
    public let url: URL
    /// The HTTP status code.
    public let status: Int
    /// The header lines in the order received, duplicates included.
    public let headers: HTTPHeaders
    /// The decoded body; empty when it is stored in ``file``.
    public let body: Data
    /// The file with the body, if the request named one and the status is 2xx.
    ///
    /// A temporary file in the same folder until the load succeeds, which then replaces the named one.
    public let file: URL?
    /// The URLs that redirected, in their order.
    public let redirects: [URL]
    /// The time from sending to the last byte of the answer, redirects included.
    public let duration: Duration

    /// Creates an answer from that of a transport, for example in a test of a validator or a strategy.
    ///
    /// - Parameters:
    ///   - response: The answer, redirects not followed.
    ///   - url: The URL that answered.
    ///   - redirects: The URLs that redirected to it; none by default.
    ///   - duration: The time from sending to the last byte; none by default.
    public init(_ response: HTTPResponse, url: URL, redirects: [URL] = [], duration: Duration = .zero) {
        self.url = url
        status = response.status
        headers = response.headers
        body = response.body
        file = response.file
        self.redirects = redirects
        self.duration = duration
    }

    /// The body decoded as UTF-8, with U+FFFD for invalid bytes.
    public var text: String {
        String(decoding: body, as: UTF8.self)
    }

    /// Whether the status is 2xx.
    public var isSuccess: Bool { (200..<300).contains(status) }

    /// Whether the `Content-Type` is JSON: `application/json` or a type that ends in `+json`.
    var isJSON: Bool {
        guard let type = headers["Content-Type"]?.utf8.prefix(while: { $0 != UInt8(ascii: ";") }) else { return false }
        let name = type.trimmingBlanks
        return name.equalsIgnoringCase("application/json") || name.suffix(5).equalsIgnoringCase("+json")
    }
}

extension APIResponse: CustomStringConvertible, CustomReflectable {
    /// The status and the size, without the contents.
    public var description: String { "HTTP \(status), \(body.count) bytes" }

    /// The description alone, so that `dump` prints no more than `print`.
    public var customMirror: Mirror { Mirror(self, children: ["response": description]) }
}
