extension RouteTable {
    /// Adds `/bytes/N`, `/range/N`, `/gzip`, `/bomb/gzip/N`, `/chunked/N` and `/drip`: bodies with known bytes.
    mutating func addBodies() {
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
}

extension Response {
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
    static let octets: HeaderLines = ["Content-Type": "application/octet-stream"]
    static let json: HeaderLines = ["Content-Type": "application/json"]
}
