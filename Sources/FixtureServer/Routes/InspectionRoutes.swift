extension RouteTable {
    /// Adds `/echo`, `/anything` and `/headers`, which show the request, and `/status/N`, `/delay/S` and `/etag/X`.
    mutating func addInspection() {
        for path in ["/echo", "/anything", "/anything/*", "/get", "/post", "/put", "/patch", "/delete"] {
            any(path) { .json(RequestEcho($0)) }
        }
        any("/headers") { .json(["headers": RequestEcho($0).headers]) }
        any("/status/:code") { request in
            guard let status = request.integer("code"), (200..<600).contains(status) else { return .badParameter }
            return .status(Int(status))
        }
        any("/delay/:seconds") { request in
            guard let delay = request.seconds("seconds") else { return .badParameter }
            return .json(RequestEcho(request)).delayed(by: delay)
        }
        get("/etag/:tag") { request in
            let tag = request.parameters["tag"] ?? ""
            guard tag.fitsHeader else { return .badParameter }
            return .representation(of: .bytes(Array("the body of \(tag)".utf8)), etag: "\"\(tag)\"", to: request)
        }
    }
}

extension RecordedRequest {
    /// Returns a parameter of the route or the query in seconds, up to a day; `standard` when missing.
    func seconds(_ name: String, standard: Double? = nil) -> Duration? {
        let seconds = (parameters[name] ?? queryValue(name)).map { Double($0) } ?? standard
        return seconds.flatMap { (0...86_400).contains($0) ? .seconds($0) : nil }
    }

    /// Returns a parameter of the route or the query as an integer; `nil` when missing, negative or invalid.
    func integer(_ name: String) -> Int64? {
        (parameters[name] ?? queryValue(name)).flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
    }
}

extension String {
    /// Whether the text may be part of a header line, which a line end in it would split.
    var fitsHeader: Bool { !utf8.contains { $0 == .carriageReturn || $0 == .lineFeed } }
}

extension Response {
    /// The response to a missing or invalid parameter.
    static let badParameter = Response.text("bad parameter", status: 400)
}
