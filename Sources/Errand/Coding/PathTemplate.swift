import Foundation

/// A request's path, in which `{name}` stands for a parameter: `/orders/{id}/lines`.
struct PathTemplate {
    private let text: String

    init(_ text: String) {
        self.text = text
    }

    /// The path with its parameters, each percent-encoded as one segment.
    func filled(from params: inout Params) throws(APIError) -> String {
        guard !text.utf8.contains(UInt8(ascii: ":")) || !text.contains("://") else {
            throw APIError(.paramsError, reason: "the path \(text) is a URL; name a service for another host")
        }
        guard text.utf8.contains(UInt8(ascii: "{")) else { return PercentEncoding.path(text) }
        var path = ""
        var rest = Substring(text)
        while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
            path += PercentEncoding.path(String(rest[..<open]))
            path += try segment(String(rest[rest.index(after: open)..<close]), &params)
            rest = rest[rest.index(after: close)...]
        }
        return path + PercentEncoding.path(String(rest))
    }

    private func segment(_ name: String, _ params: inout Params) throws(APIError) -> String {
        guard let value = try params.takeForPath(name), !value.isEmpty else {
            throw APIError(.paramsError, reason: "the path needs the parameter \(name)")
        }
        guard value != ".", value != ".." else {
            throw APIError(.paramsError, reason: "the path parameter \(name) would leave its segment")
        }
        return PercentEncoding.segment(value)
    }
}
