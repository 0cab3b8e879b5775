import Foundation

extension RouteTable {
    /// The routes with the names of httpbin, and the faulty ones.
    package static let standard: RouteTable = {
        var table = RouteTable()
        table.addInspection()
        table.addCookies()
        table.addRedirects()
        table.addBodies()
        table.addFaults()
        return table
    }()

    /// Adds `/echo`, `/anything` and `/headers`, which show the request, and `/status/N`, `/delay/S` and `/etag/X`.
    private mutating func addInspection() {
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

    /// Adds `/cookies`, `/cookies/set?name=value` and `/cookies/delete?name`.
    private mutating func addCookies() {
        get("/cookies") { request in
            let pairs = request.cookies.map { ($0.name, $0.value) }
            return .json(["cookies": Dictionary(pairs) { $1 }])
        }
        get("/cookies/set") { request in
            Self.setCookies(request) { "\($0.name)=\($0.value); Path=/" }
        }
        get("/cookies/delete") { request in
            Self.setCookies(request) { "\($0.name)=; Path=/; Max-Age=0" }
        }
    }

    private static func setCookies(_ request: RecordedRequest, _ line: (FormItem) -> String) -> Response {
        let lines = request.queryItems.map(line)
        guard lines.allSatisfy(\.fitsHeader) else { return .badParameter }
        return lines.reduce(.redirect(to: "/cookies")) { $0.adding("Set-Cookie", $1) }
    }

    /// Adds `/redirect/N`, `/redirect-to?url=&status_code=` and `/redirect-loop`.
    private mutating func addRedirects() {
        any("/redirect/:count") { request in
            guard let count = request.integer("count") else { return .badParameter }
            return .redirect(to: count > 1 ? "/redirect/\(count - 1)" : "/anything")
        }
        any("/redirect-to") { request in
            guard let url = request.queryValue("url"), url.fitsHeader else { return .badParameter }
            return .redirect(to: url, status: Int(request.integer("status_code") ?? 302))
        }
        any("/redirect-loop") { _ in .redirect(to: "/redirect-loop") }
    }

    /// Adds `/bytes/N`, `/range/N`, `/gzip`, `/bomb/gzip/N`, `/chunked/N` and `/drip`: bodies with known bytes.
    private mutating func addBodies() {
        get("/bytes/:count") { request in
            guard let count = request.integer("count") else { return .badParameter }
            return .stream(.counting(count), headers: .octets)
        }
        get("/range/:count") { request in
            guard let count = request.integer("count") else { return .badParameter }
            return .representation(of: .counting(count), etag: "\"range-\(count)\"", headers: .octets, to: request)
        }
        get("/gzip") { .gzip(Array("{\"gzipped\":true,\"method\":\"\($0.method)\"}".utf8), headers: .json) }
        get("/bomb/:coding/:count") { request in
            guard let count = request.integer("count"), count <= 4 << 30 else { return .badParameter }
            let coding = request.parameters["coding"] == "deflate" ? "deflate" : "gzip"
            let body = coding == "gzip" ? DecompressionBomb.gzip(count) : DecompressionBomb.zlib(count)
            return .bytes(body, headers: .octets + ["Content-Encoding": coding])
        }
        get("/chunked/:count") { request in
            guard let count = request.integer("count"), count <= 10_000 else { return .badParameter }
            return .chunked((0..<count).map { Array("chunk \($0)\n".utf8) }, trailers: ["X-Chunks": String(count)])
        }
        get("/drip") { try .drip($0) }
    }

    /// Adds `/hang`, `/garbage`, `/drop/…`, `/reset/…` and `/endless/…`: faulty responses.
    private mutating func addFaults() {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
        any("/hang") { _ in .hang }
        any("/garbage") { _ in .script(.write("\u{0}\u{1}this is not HTTP\r\n\r\n"), .close) }
        any("/drop/at-once") { _ in .script(.close) }
        any("/drop/mid-headers") { _ in .script(.write(head), .close) }
        any("/drop/mid-body") { _ in .script(.write(head + "Content-Length: 1000\r\n\r\nabc"), .close) }
        any("/reset/at-once") { _ in .script(.reset) }
        any("/reset/mid-headers") { _ in .script(.write(head), .reset) }
        any("/reset/mid-body") { _ in .script(.write(head + "Content-Length: 1000\r\n\r\nabc"), .reset) }
        endless("/endless/body", Array(repeating: 0x2A, count: 4096), Response(status: 200, steps: []))
        endless("/endless/headers", "X-More: and more and more\r\n".utf8, .script(.write("HTTP/1.1 200 OK\r\n")))
        endless("/endless/continue", "HTTP/1.1 100 Continue\r\n\r\n".utf8, .script())
    }

    /// Returns a response that repeats `bytes` after `beginning`, with a pause of `?every=` seconds.
    private mutating func endless(_ path: String, _ bytes: some Sequence<UInt8>, _ beginning: Response) {
        let bytes = Array(bytes)
        any(path) { request in
            guard let pause = request.seconds("every", standard: 0) else { return .badParameter }
            return beginning.followed(by: .repeatForever(bytes, every: pause))
        }
    }
}

extension Response {
    /// The response to a missing or invalid parameter.
    fileprivate static let badParameter = Response.text("bad parameter", status: 400)

    /// Returns a body of `numbytes` stars, sent over `duration` seconds after `delay` seconds.
    fileprivate static func drip(_ request: RecordedRequest) throws -> Response {
        let count = request.integer("numbytes") ?? 10
        guard count <= 100_000, let duration = request.seconds("duration", standard: 2),
            let delay = request.seconds("delay", standard: 0)
        else { return .badParameter }
        let pause = duration / max(1, Int(count))
        let steps = (0..<count).flatMap { _ in [Step.write("*"), .wait(pause)] }
        return Response(status: 200, headers: .octets + ["Content-Length": String(count)], steps: steps)
            .delayed(by: delay)
    }
}

extension HeaderLines {
    fileprivate static let octets: HeaderLines = ["Content-Type": "application/octet-stream"]
    fileprivate static let json: HeaderLines = ["Content-Type": "application/json"]
}

extension RecordedRequest {
    /// Returns a parameter of the route or the query in seconds, up to a day; `standard` when missing.
    fileprivate func seconds(_ name: String, standard: Double? = nil) -> Duration? {
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
    fileprivate var fitsHeader: Bool { !utf8.contains { $0 == .carriageReturn || $0 == .lineFeed } }
}

/// A request as JSON, for tests that check what arrived.
package struct RequestEcho: Codable, Sendable, Equatable {
    /// The method as it was written.
    package let method: String
    /// The target as it was written.
    package let target: String
    /// The names and values of the query, decoded.
    package let args: [FormItem]
    /// The header lines as `[name, value]`, in order.
    package let headers: [[String]]
    /// The body in base64.
    package let bodyBase64: String
    /// The body as text.
    package let bodyText: String
    /// The number of bytes of the body.
    package let bodyCount: Int64
    /// The number of the connection, counted from 1.
    package let connection: Int

    /// Creates the echo of a request.
    package init(_ request: RecordedRequest) {
        method = request.method
        target = request.target
        args = request.queryItems
        headers = request.headers.map { [$0.name, $0.value] }
        bodyBase64 = Data(request.body).base64EncodedString()
        bodyText = request.text
        bodyCount = request.bodyCount
        connection = request.connection
    }
}
