import Foundation

/// The base URL of a service, which is split once and not for each request.
struct BaseURL: Sendable {
    let queueHost: String
    /// Before the query, without slashes at the end.
    private let prefix: String
    private let endsWithSlash: Bool
    /// Precedes the query of a request.
    private let query: String
    fileprivate let hasHost: Bool

    init(_ url: URL) {
        let text = url.absoluteString
        let end = text.utf8.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? text.endIndex
        var prefix = text[..<end]
        while prefix.utf8.last == UInt8(ascii: "/") { prefix.removeLast() }
        self.prefix = String(prefix)
        endsWithSlash = prefix.endIndex < end
        query = String(Substring(text.utf8[end...].prefix { $0 != UInt8(ascii: "#") }.dropFirst()))
        hasHost = url.host != nil
        queueHost = url.queueHost
    }

    /// The path and the query are encoded; the path may have a query itself.
    func appending(path: String, query: String) -> URL? {
        var text = prefix
        text.reserveCapacity(prefix.utf8.count + path.utf8.count + self.query.utf8.count + query.utf8.count + 3)
        // A path that is empty or only a query is that of the base.
        let isBase = path.isEmpty || path.utf8.first == UInt8(ascii: "?")
        if isBase ? endsWithSlash : path.utf8.first != UInt8(ascii: "/") { text += "/" }
        text += path
        var hasQuery = path.utf8.contains(UInt8(ascii: "?"))
        for part in [self.query, query] where !part.isEmpty {
            text += hasQuery ? "&" : "?"
            text += part
            hasQuery = true
        }
        return URL(verbatim: text)
    }
}

extension APIService {
    func url(path: String, query: String) throws(APIError) -> URL {
        guard base.hasHost else {
            let reason = "the service's base URL has no host; a base URL is like https://api.example.com/v1"
            throw APIError(.invalidRequest, reason: reason)
        }
        guard let url = base.appending(path: path, query: query) else {
            throw APIError(.invalidRequest, reason: "the path makes no URL below the service's base URL")
        }
        return url
    }
}
