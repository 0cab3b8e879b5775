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

/// The lines of a request by which its response varies, so that it is given to no request with other ones (RFC 9111 section 4.1).
struct CacheSelection: Sendable, Equatable {
    struct Line: Sendable, Equatable {
        /// In lower case.
        let name: String
        /// Normalized, and a checksum if it may be a secret; `nil` for a request without such a line.
        let value: String?
    }

    let lines: [Line]

    init(lines: [Line]) { self.lines = lines }

    /// `nil` for a response that varies by anything.
    init?(_ request: HTTPRequest, by headers: HTTPHeaders) {
        let elements = headers.varyNames
        guard !elements.contains("*") else { return nil }
        lines = elements.sorted().map { Line(name: $0, value: request.headers.normalized($0)) }
    }

    /// `language` is that of the response: it is the one to a request that prefers it to all others.
    func matches(_ request: HTTPRequest, language: @autoclosure () -> String?) -> Bool {
        lines.allSatisfy { line in
            if line.value == request.headers.normalized(line.name) { return true }
            guard line.name == "accept-language", let language = language() else { return false }
            return request.headers.preferredLanguage?.equalsIgnoringCase(language) == true
        }
    }
}

extension HTTPHeaders {
    /// In small letters.
    var varyNames: Set<String> {
        Set(listElements(of: "Vary").map { String(decoding: $0.map(\.asciiLowercased), as: UTF8.self) })
    }

    /// Those whose values have no secret.
    private static let plainNames: Set = ["accept", "accept-charset", "accept-encoding", "accept-language", "origin"]

    /// Two lines with the same result mean the same: blanks around elements are removed, and where the order of elements has no
    /// meaning (RFC 9110 sections 12.5.3 and 12.5.4) they are sorted.
    fileprivate func normalized(_ name: String) -> String? {
        guard self[name] != nil else { return nil }
        var elements = listElements(of: name).map { String(decoding: $0, as: UTF8.self) }
        if name == "accept-language" || name == "accept-encoding" {
            elements = elements.map { $0.lowercased().filter { $0 != " " } }.sorted()
        }
        let value = elements.joined(separator: ",")
        return Self.plainNames.contains(name) ? value : Checksum.name(of: Array(value.utf8))
    }

    /// `nil` unless there is one with the greatest weight.
    fileprivate var preferredLanguage: Substring.UTF8View? {
        let weighted = listElements(of: "Accept-Language").map { element in
            let parts = String(decoding: element.map(\.asciiLowercased), as: UTF8.self).split(separator: ";")
            let weight = parts.dropFirst().first { $0.trimmingPrefix(" ").hasPrefix("q=") }
            let quality = weight.map { Double($0.trimmingPrefix(" ").dropFirst(2)) ?? 0 } ?? 1
            return (language: parts.first?.utf8 ?? ""[...].utf8, quality: quality)
        }
        guard let best = weighted.max(by: { $0.quality < $1.quality }), best.quality > 0 else { return nil }
        return weighted.filter { $0.quality == best.quality }.count == 1 ? best.language : nil
    }
}
