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

    /// Each text with the name of the parameter after it; the last one has none.
    private var pieces: [(text: Substring, name: String?)] {
        var (pieces, rest): ([(text: Substring, name: String?)], Substring) = ([], text[...])
        while let open = rest.utf8.firstIndex(of: UInt8(ascii: "{")),
            let close = rest[open...].utf8.firstIndex(of: UInt8(ascii: "}"))
        {
            pieces.append((rest[..<open], String(rest[open..<close].dropFirst())))
            rest = rest[close...].dropFirst()
        }
        pieces.append((rest, nil))
        return pieces
    }

    var names: Set<String> { Set(pieces.compactMap(\.name)) }

    /// Encodes each parameter as one segment; the rest of a URL is not encoded.
    func filled(from params: inout MergedParams) throws(APIError) -> String {
        var path = ""
        let pieces = pieces
        for piece in pieces {
            // The components of a URL are encoded when it is parsed.
            path += isURL ? String(piece.text) : PercentEncoding.path(piece.text.utf8)
            if let name = piece.name { path += try segment(for: name, from: &params) }
        }
        guard pieces.last?.text.utf8.contains(UInt8(ascii: "{")) != true else {
            throw APIError(.invalidRequest, reason: "the path has a { without a }")
        }
        return path
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
