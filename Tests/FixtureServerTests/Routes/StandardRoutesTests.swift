import Foundation
import Testing
import TestSupport

@testable import FixtureServer

@Suite("The standard routes", .limitedConcurrency, .timeLimit(.minutes(10)))
struct StandardRoutesTests {
    private let server: FixtureServer

    init() throws {
        server = try FixtureServer.start()
    }

    @Test(arguments: [200, 201, 404, 418, 503, 599])
    func `/status responds with the status`(status: Int) throws {
        #expect(try get("/status/\(status)").status == status)
    }

    @Test func `/status refuses an invalid status`() throws {
        #expect(try get("/status/99").status == 400)
        #expect(try get("/status/ok").status == 400)
    }

    @Test func `/echo shows what arrived`() throws {
        var client = try RawClient(port: server.port)
        client.request("PATCH", "/echo?a=1", ["X-A: 1", "x-a: 2"], body: [0x61, 0xFF])
        let echo = try JSONDecoder().decode(RequestEcho.self, from: Data(client.reply().body))
        #expect(echo.method == "PATCH")
        #expect(echo.target == "/echo?a=1")
        #expect(echo.headers == [["Host", "localhost"], ["X-A", "1"], ["x-a", "2"], ["Content-Length", "2"]])
        #expect(echo.bodyBase64 == "Yf8=")
        #expect(echo.bodyText == "a\u{FFFD}")
    }

    @Test func `/delay waits for a fraction of a second`() throws {
        let start = ContinuousClock.now
        #expect(try get("/delay/0.05").status == 200)
        #expect(ContinuousClock.now - start >= .milliseconds(50))
    }

    @Test func `/cookies sets, shows and deletes cookies`() throws {
        let reply = try get("/cookies/set?a=1&b=2")
        #expect(reply.status == 302 && reply.header("Location") == "/cookies")
        #expect(reply.headers.filter { $0.hasPrefix("Set-Cookie") }.count == 2)
        #expect(try get("/cookies", ["Cookie: a=1; b=x=y"]).text == #"{"cookies":{"a":"1","b":"x=y"}}"#)
        #expect(try get("/cookies/delete?a").header("Set-Cookie") == "a=; Path=/; Max-Age=0")
    }

    @Test func `/redirect counts down and ends at /anything`() throws {
        #expect(try get("/redirect/3").header("Location") == "/redirect/2")
        #expect(try get("/redirect/1").header("Location") == "/anything")
        #expect(try get("/redirect-to?url=http%3A%2F%2Fx.test%2F&status_code=307").statusLine.contains("307"))
    }

    @Test func `/bytes sends ascending bytes, many more than the socket buffers hold`() throws {
        let turns = (0..<12_000).flatMap { _ in (0...255).map { UInt8($0) } }
        #expect(try get("/bytes/3000001").body == Array(turns.prefix(3_000_001)))
    }

    @Test(arguments: [
        ("bytes=0-9", 206, "bytes 0-9/1000"), ("bytes=990-", 206, "bytes 990-999/1000"),
        ("bytes=-10", 206, "bytes 990-999/1000"), ("bytes=990-2000", 206, "bytes 990-999/1000"),
        ("bytes=1000-", 416, "bytes */1000"), ("bytes=-0", 416, "bytes */1000"),
        ("bytes=5-1", 200, nil), ("bytes=0-1,3-4", 200, nil), ("lines=1-2", 200, nil),
    ])
    func `/range sends a part, or the whole, or 416`(range: String, status: Int, contentRange: String?) throws {
        let reply = try get("/range/1000", ["Range: \(range)"])
        #expect(reply.status == status)
        #expect(reply.header("Content-Range") == contentRange)
        let whole = (0..<1000).map { UInt8($0 & 255) }
        let part = contentRange == "bytes 0-9/1000" ? whole.prefix(10) : whole.suffix(10)
        if status == 206 { #expect(reply.body == Array(part)) }
    }

    @Test func `/range sends everything when If-Range names another version`() throws {
        #expect(try get("/range/10", ["Range: bytes=0-1", "If-Range: \"range-10\""]).status == 206)
        #expect(try get("/range/10", ["Range: bytes=0-1", "If-Range: \"other\""]).status == 200)
    }

    @Test func `/etag responses 304 to the same tag and 412 to a wrong one`() throws {
        #expect(try get("/etag/v1").header("ETag") == "\"v1\"")
        let known = try get("/etag/v1", ["If-None-Match: \"v0\", W/\"v1\""])
        #expect(known.status == 304 && known.body.isEmpty)
        #expect(try get("/etag/v1", ["If-Match: \"v0\""]).status == 412)
    }

    @Test func `HEAD has the headers and no body`() throws {
        var client = try RawClient(port: server.port)
        client.request("HEAD", "/bytes/1000")
        #expect(client.reply(hasBody: false).header("Content-Length") == "1000")
        client.request("GET", "/status/204")
        #expect(client.reply().status == 204)
    }

    @Test func `/chunked sends chunks and a trailer`() throws {
        var client = try RawClient(port: server.port)
        client.request("GET", "/chunked/2")
        #expect(client.reply().header("Transfer-Encoding") == "chunked")
        #expect(client.read(through: "\r\n\r\n") == "8\r\nchunk 0\n\r\n8\r\nchunk 1\n\r\n0\r\nX-Chunks: 2\r\n\r\n")
    }

    @Test func `/drip sends its bytes one by one`() throws {
        let start = ContinuousClock.now
        #expect(try get("/drip?numbytes=5&duration=0.05").text == "*****")
        #expect(ContinuousClock.now - start >= .milliseconds(40))
    }

    @Test(arguments: [
        ("/drop/at-once", "", RawClient.End.fin),
        ("/drop/mid-headers", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n", .fin),
        ("/reset/at-once", "", .reset),
        ("/reset/mid-headers", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n", .reset),
    ])
    func `Faulty routes end the connection at the given place`(path: String, bytes: String, end: RawClient.End) throws {
        var client = try RawClient(port: server.port)
        client.request("GET", path)
        let result = client.readToEnd()
        #expect(String(decoding: result.bytes, as: UTF8.self) == bytes)
        #expect(result.end == end)
    }

    @Test func `Endless bodies and headers continue until the client disconnects`() async throws {
        for path in ["/endless/body", "/endless/headers", "/endless/continue?every=0.001"] {
            do {
                var client = try RawClient(port: server.port)
                client.request("GET", path)
                #expect(client.read(1000).count == 1000)
            }
            #expect(await server.waitForOpenConnections(0))
        }
    }

    @Test func `Unknown paths are 404 and unknown methods 405`() throws {
        #expect(try get("/nowhere").status == 404)
        var client = try RawClient(port: server.port)
        client.request("POST", "/bytes/1")
        #expect(client.reply().status == 405)
    }

    @Test(.startsPrograms) func `/gzip sends valid gzip`() throws {
        let reply = try get("/gzip")
        #expect(reply.header("Content-Encoding") == "gzip")
        #expect(try Gunzip.run(reply.body) == Array(#"{"gzipped":true,"method":"GET"}"#.utf8))
    }

    @Test(arguments: [
        "/cookies/set?a=1%0D%0ASet-Cookie:%20evil=1", "/cookies/set?a%0Ab=1", "/cookies/delete?a%0D%0AX:%20evil",
        "/cookies/delete?a%0Db", "/etag/a%0D%0AX:%20evil", "/redirect-to?url=/%0D%0AX:%20evil",
    ])
    func `A line end in a parameter does not reach the head of a response`(_ target: String) throws {
        let reply = try get(target)
        #expect(reply.status == 400)
        #expect(!reply.headers.contains { $0.contains("evil") })
    }

    private func get(_ target: String, _ headers: [String] = []) throws -> RawClient.Reply {
        var client = try RawClient(port: server.port)
        client.request("GET", target, headers)
        return client.reply()
    }
}

@Suite("Routes", .limitedConcurrency, .timeLimit(.minutes(10)))
struct RouteTableTests {
    @Test(arguments: [
        ("/a/b", "/a/b", [:]), ("/:x/b", "/a/b", ["x": "a"]), ("/:x", "/%E4%BD%A0%2F", ["x": "你/"]),
        ("/:id.pdf", "/7.pdf", ["id": "7"]), ("/a/*", "/a/b/c", ["*": "b/c"]), ("/a/*", "/a/", ["*": ""]),
        ("/", "/", [:]),
    ])
    func `A pattern matches`(pattern: String, path: String, parameters: [String: String]) {
        #expect(RoutePattern(pattern).match(path) == parameters)
    }

    @Test(arguments: [
        ("/a", "/a/"), ("/a", "/A"), ("/:x", "/a/b"), ("/:x/b", "/a"), ("/:id.pdf", "/.pdf"), ("/:id.pdf", "/7.txt"),
        ("/a/*", "/b/c"), ("/a", ""), ("/a", "*"),
    ])
    func `A pattern does not match`(pattern: String, path: String) {
        #expect(RoutePattern(pattern).match(path) == nil)
    }

    @Test func `The route that was added last takes precedence, also in a merged table`() throws {
        var routes = RouteTable()
        routes.get("/x/:y") { _ in .text("first") }
        routes.get("/x/:y") { .text("second \($0.parameters["y"] ?? "")") }
        var more = RouteTable()
        more.get("/status/200") { _ in .text("mine") }
        var all = RouteTable.standard
        all.add(routes)
        all.add(more)
        let server = try FixtureServer.start(routes: all)
        var client = try RawClient(port: server.port)
        for (path, text) in [("/x/1", "second 1"), ("/status/200", "mine")] {
            client.request("GET", path)
            #expect(client.reply().text == text)
        }
        client.request("GET", "/status/404")
        #expect(client.reply().status == 404)
    }
}

/// No request may crash the process: a trap in the server would also end these tests.
@Suite("Inputs that no client should send", .limitedConcurrency, .timeLimit(.minutes(10)))
struct ExtremeInputTests {
    @Test(arguments: [
        "/delay/1e300", "/delay/1e17", "/delay/86401", "/delay/-1", "/delay/nan", "/delay/soon",
        "/drip?duration=1e300", "/drip?delay=1e17", "/drip?duration=nan", "/drip?numbytes=100001",
        "/endless/body?every=1e300", "/endless/headers?every=1e17", "/endless/continue?every=-1",
    ])
    func `A time that is too long is refused`(_ target: String) throws {
        #expect(try get(target).status == 400)
    }

    @Test func `Positions at the limit of integers are refused`() throws {
        let server = try FixtureServer.startShop()
        var client = try ShopClient(server)
        try client.signIn()
        let last = Int.max
        #expect(throws: ShopRefusal.badParameter) { try client.call("GET", "/orders/linked?page=\(last)") }
        let cursor = Data("after:\(last)".utf8).base64EncodedString().replacing("=", with: "%3D")
        #expect(throws: ShopRefusal.badCursor) { try client.call("GET", "/orders?cursor=\(cursor)") }
        #expect(try client.call("GET", "/orders?page=\(last)", as: Empty.self).list.isEmpty)
    }

    private struct Empty: Decodable {
        let list: [ShopOrder]
    }

    private func get(_ target: String) throws -> RawClient.Reply {
        let server = try FixtureServer.start()
        var client = try RawClient(port: server.port)
        client.request("GET", target)
        return client.reply()
    }
}
