import Foundation

/// What a stored response is the response to, besides the session and the headers that it varies by.
///
/// It is stored with the response and compared as a whole, because two keys may have the same ``name``.
struct CacheKey: Sendable {
    let bytes: [UInt8]
    let url: URL

    /// Of a `GET` by HTTP's rules; `part` is for a 206, which is stored beside the whole representation.
    init(_ url: URL, part: Bool = false) {
        self.url = url
        bytes = Array("\(part ? "PART" : "GET") \(url.absoluteString)".utf8)
    }

    /// Of the app's own rules, with the range of which the response is a part; `nil` for a body that is not in memory, or longer
    /// than 1 MiB.
    init?(_ request: HTTPRequest, by policy: CachePolicy) {
        let version = if case .version(let number) = policy { " \(number)" } else { "" }
        var bytes = Array("rule\(version) \(request.method) \(request.url.absoluteString)\n".utf8)
        bytes += Array("\(request.headers["Range"] ?? "")\n".utf8)
        for piece in request.body.pieces {
            guard case .data(let data) = piece, bytes.count + data.count <= 1 << 20 else { return nil }
            bytes += data
        }
        (self.bytes, url) = (bytes, request.url)
    }

    /// For the name of a file.
    var name: String { Checksum.name(of: bytes) }
}
