import Foundation

/// A request's path, in which `{name}` is replaced by a parameter: `/orders/{id}/lines`.
struct PathTemplate {
    private let text: String

    init(_ text: String) {
        self.text = text
    }

    /// Returns the path with its parameters, each percent-encoded as one segment.
    func filled(from params: inout MergedParams) throws(APIError) -> String {
        guard !isURL else {
            throw APIError(.invalidRequest, reason: "the path is a whole URL; name a service for another host")
        }
        guard text.utf8.contains(UInt8(ascii: "{")) else { return PercentEncoding.path(text.utf8) }
        var path = ""
        var rest = Substring(text)
        while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
            path += PercentEncoding.path(rest[..<open].utf8)
            path += try segment(for: String(rest[rest.index(after: open)..<close]), from: &params)
            rest = rest[rest.index(after: close)...]
        }
        return path + PercentEncoding.path(rest.utf8)
    }

    /// Whether the text starts with a scheme; a later `://` is part of a path or a query.
    private var isURL: Bool {
        let start = text.utf8.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        return start.last == UInt8(ascii: ":") && text.utf8.dropFirst(start.count).starts(with: "//".utf8)
    }

    private func segment(for name: String, from params: inout MergedParams) throws(APIError) -> String {
        guard let value = try params.takeForPath(name), !value.isEmpty else {
            throw APIError(.invalidRequest, reason: "the path needs the parameter \(name)")
        }
        guard value != ".", value != ".." else {
            throw APIError(.invalidRequest, reason: "the path parameter \(name) would leave its segment")
        }
        return PercentEncoding.segment(value)
    }
}
