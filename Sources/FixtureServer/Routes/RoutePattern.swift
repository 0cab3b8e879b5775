/// A path with placeholders: `:id` in `/orders/:id` matches one segment, `*` in `/files/*` all that follow.
struct RoutePattern: Sendable {
    private enum Segment {
        case literal(Substring)
        case placeholder(String, suffix: Substring)
        case rest
    }

    private let segments: [Segment]
    /// Whether the pattern is a path without placeholders.
    let isLiteral: Bool

    /// Parses a pattern; a placeholder ends at the first `.`, so `/invoices/:id.pdf` works.
    init(_ pattern: String) {
        segments = Self.split(pattern).map { segment in
            if segment == "*" { return .rest }
            guard segment.first == ":" else { return .literal(segment) }
            let name = segment.dropFirst().prefix { $0 != "." }
            return .placeholder(String(name), suffix: segment.dropFirst(1 + name.count))
        }
        isLiteral = !pattern.contains(":") && !pattern.contains("*")
    }

    /// Returns the values of the placeholders in `path`, percent-decoded; `nil` when the path does not match.
    func match(_ path: String) -> [String: String]? {
        var parameters: [String: String] = [:]
        var parts = Self.split(path)[...]
        for segment in segments {
            if case .rest = segment {
                parameters["*"] = parts.joined(separator: "/")
                return parameters
            }
            guard let part = parts.popFirst() else { return nil }
            guard Self.match(segment, part, &parameters) else { return nil }
        }
        return parts.isEmpty ? parameters : nil
    }

    private static func match(_ segment: Segment, _ part: Substring, _ parameters: inout [String: String]) -> Bool {
        switch segment {
        case .literal(let text):
            return text == part
        case .placeholder(let name, let suffix):
            guard part.hasSuffix(suffix), part.count > suffix.count else { return false }
            parameters[name] = PercentCoding.decode(part.dropLast(suffix.count).utf8)
            return true
        case .rest:
            return true
        }
    }

    private static func split(_ path: String) -> [Substring] {
        path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { $0 }
    }
}
