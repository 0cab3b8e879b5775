extension RouteTable {
    /// `/echo`, `/anything`, `/headers`, `/status/N`, `/delay/S`, `/etag/X`: what arrived, and answers made to measure.
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
    /// A parameter of the route or of the query as a time of up to a day, in seconds; `standard` when there is none.
    func seconds(_ name: String, standard: Double? = nil) -> Duration? {
        let seconds = (parameters[name] ?? queryValue(name)).map { Double($0) } ?? standard
        return seconds.flatMap { (0...86_400).contains($0) ? .seconds($0) : nil }
    }

    /// A parameter of the route or of the query as a whole number that is not negative.
    func integer(_ name: String) -> Int64? {
        (parameters[name] ?? queryValue(name)).flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
    }
}

extension String {
    /// Whether the text may stand in a header line, which a line end in it would split.
    var fitsHeader: Bool { !utf8.contains { $0 == .carriageReturn || $0 == .lineFeed } }
}

extension Answer {
    /// A parameter is missing or makes no sense.
    static let badParameter = Answer.text("bad parameter", status: 400)
}
