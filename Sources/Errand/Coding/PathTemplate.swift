import Foundation

/// A request's path, or absolute URL, in which `{name}` is replaced by a parameter: `/orders/{id}/lines`.
struct PathTemplate {
    private let text: String
    /// Whether the text starts with a scheme; a later `://` is part of a path or a query.
    let isURL: Bool

    init(_ text: String) {
        self.text = text
        let start = text.utf8.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        isURL = start.last == UInt8(ascii: ":") && text.utf8.dropFirst(start.count).starts(with: "//".utf8)
    }

    /// The names of the parameters in the path.
    var names: Set<String> {
        guard text.utf8.contains(UInt8(ascii: "{")) else { return [] }
        var names: Set<String> = []
        var rest = Substring(text)
        while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
            names.insert(String(rest[rest.index(after: open)..<close]))
            rest = rest[rest.index(after: close)...]
        }
        return names
    }

    /// Returns the path with its parameters, each percent-encoded as one segment; the rest of a URL is not encoded.
    func filled(from params: inout MergedParams) throws(APIError) -> String {
        guard text.utf8.contains(UInt8(ascii: "{")) else { return encoded(text.utf8[...]) }
        var path = ""
        var rest = Substring(text)
        while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
            path += encoded(rest[..<open].utf8)
            path += try segment(for: String(rest[rest.index(after: open)..<close]), from: &params)
            rest = rest[rest.index(after: close)...]
        }
        guard !rest.utf8.contains(UInt8(ascii: "{")) else {
            throw APIError(.invalidRequest, reason: "the path has a { without a }")
        }
        return path + encoded(rest.utf8)
    }

    /// Returns a part of the template as it is sent; unchanged in a URL, whose components are encoded when it is parsed.
    private func encoded(_ part: Substring.UTF8View) -> String {
        isURL ? String(Substring(part)) : PercentEncoding.path(part)
    }

    private func segment(for name: String, from params: inout MergedParams) throws(APIError) -> String {
        guard !name.isEmpty else { throw APIError(.invalidRequest, reason: "the path has {} without a name") }
        guard let param = try params.takeForPath(name) else {
            throw APIError(.invalidRequest, reason: "the path needs the parameter \(name)")
        }
        guard let value = param.scalarText, !value.isEmpty else {
            let fault = param.fault
            throw APIError(.invalidRequest, reason: "the path parameter \(name) is \(fault): the path needs a text")
        }
        guard value != ".", value != ".." else {
            throw APIError(.invalidRequest, reason: "the path parameter \(name) would leave its segment")
        }
        return PercentEncoding.segment(value)
    }
}

extension JSONValue {
    /// What a value is that a path cannot have, without its contents.
    fileprivate var fault: String {
        switch self {
        case .null: "nil"
        case .array: "an array"
        case .object: "an object"
        default: "empty"
        }
    }
}
