/// The handlers by method and path; of two that match, the one that was added last responds.
package struct RouteTable: Sendable {
    /// A function that responds to a request; an error becomes a 500 with its description.
    package typealias Handler = @Sendable (RecordedRequest) throws -> Response

    fileprivate struct Route {
        let method: String?
        let pattern: RoutePattern
        let handler: Handler
    }

    private var literals: [String: [Route]] = [:]
    private var patterns: [Route] = []

    /// Creates an empty table, which responds with 404.
    package init() {}

    /// Adds a route; `HEAD` requests are served by the routes for `GET`.
    ///
    /// - Parameters:
    ///   - method: The method, or `nil` for any.
    ///   - pattern: A path, in which `:name` matches one segment and `*` all that follow.
    ///   - handler: Responds to the request; called on the server's thread.
    package mutating func on(_ method: String?, _ pattern: String, _ handler: @escaping Handler) {
        let route = Route(method: method, pattern: RoutePattern(pattern), handler: handler)
        if route.pattern.isLiteral {
            literals[pattern, default: []].append(route)
        } else {
            patterns.append(route)
        }
    }

    /// Adds a route for `GET` and `HEAD`.
    package mutating func get(_ pattern: String, _ handler: @escaping Handler) {
        on("GET", pattern, handler)
    }

    /// Adds a route for `POST`.
    package mutating func post(_ pattern: String, _ handler: @escaping Handler) {
        on("POST", pattern, handler)
    }

    /// Adds a route for every method.
    package mutating func any(_ pattern: String, _ handler: @escaping Handler) {
        on(nil, pattern, handler)
    }

    /// Adds all routes of `other`, which take precedence over these.
    package mutating func add(_ other: RouteTable) {
        literals.merge(other.literals) { $0 + $1 }
        patterns += other.patterns
    }

    /// Returns the response of the last route that matches; 404 for an unknown path, 405 for an unknown method.
    @Sendable package func response(to request: RecordedRequest) -> Response {
        let path = request.path
        let method = request.head.isHEAD ? "GET" : request.method
        if let route = literals[path]?.last(where: { $0.takes(method) }) { return route.response(to: request) }
        var isKnown = literals[path] != nil
        for route in patterns.reversed() {
            guard let parameters = route.pattern.match(path) else { continue }
            isKnown = true
            guard route.takes(method) else { continue }
            var request = request
            request.parameters = parameters
            return route.response(to: request)
        }
        return .text("no route for \(method) \(path)", status: isKnown ? 405 : 404)
    }
}

extension RouteTable.Route {
    fileprivate func takes(_ method: String) -> Bool { self.method == nil || self.method == method }

    fileprivate func response(to request: RecordedRequest) -> Response {
        do {
            return try handler(request)
        } catch {
            return .text("\(error)", status: 500)
        }
    }
}

extension FixtureServer {
    /// Starts a server that responds with the routes of a table.
    ///
    /// - Throws: ``SystemError``.
    package static func start(
        _ options: ServerOptions = ServerOptions(),
        routes: RouteTable = .standard
    ) throws -> FixtureServer {
        try start(options, handler: routes.response)
    }
}

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
