import Foundation
import TestSupport
import Testing

@testable import FixtureServer

@Suite("Reading requests", .limitedConcurrency, .timeLimit(.minutes(10)))
struct RequestReadingTests {
    @Test func `Every byte of the head is kept, in order and including duplicates`() async throws {
        let server = try FixtureServer.start { _ in .text("ok") }
        let client = try RawClient(port: server.port)
        let head = "PUT /a%20b?x=1&x=%E4%BD%A0+2 HTTP/1.1\r\nHost: h\r\nX-A:  one \r\nx-a:\ttwo\r\nX-Empty:\r\n\r\n"
        client.send(head)
        let request = try await server.takeRequest()
        #expect(request.head.bytes == Array(head.utf8))
        #expect(request.method == "PUT")
        #expect(request.target == "/a%20b?x=1&x=%E4%BD%A0+2")
        #expect(request.path == "/a%20b")
        #expect(request.query == "x=1&x=%E4%BD%A0+2")
        #expect(request.queryItems == [FormItem(name: "x", value: "1"), FormItem(name: "x", value: "你 2")])
        #expect(request.headers.map(\.name) == ["Host", "X-A", "x-a", "X-Empty"])
        #expect(request.headers.values("X-A") == ["one", "two"])
        #expect(request.header("x-empty")?.isEmpty == true)
        #expect(request.connection == 1 && request.turn == 1)
    }

    @Test func `Header values that are not UTF-8 keep their bytes`() async throws {
        let server = try FixtureServer.start { _ in .text("ok") }
        let client = try RawClient(port: server.port)
        client.send(Array("GET / HTTP/1.1\r\nHost: h\r\nX: ".utf8) + [0xFF, 0x80] + Array("\r\n\r\n".utf8))
        #expect(try await server.takeRequest().headers[1].bytes == [0xFF, 0x80])
    }

    @Test func `The path of a target in absolute form follows its host`() async throws {
        let server = try FixtureServer.start { .text($0.path) }
        var client = try RawClient(port: server.port)
        for (target, path) in [("http://a.test/b/c?d", "/b/c"), ("http://a.test", ""), ("*", "*")] {
            client.request("GET", target)
            #expect(client.reply().text == path)
        }
    }

    @Test func `A body with a length and a chunked one arrive complete, in whatever pieces`() async throws {
        let server = try FixtureServer.start { .text($0.text) }
        let requests = [
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello",
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "2;x=y\r\nhe\r\n03\r\nllo\r\n0\r\nX-Sum: 1\r\n\r\n",
        ]
        for request in requests.map({ Array($0.utf8) }) {
            for cut in 1..<request.count {
                var client = try RawClient(port: server.port)
                client.send(Array(request[..<cut]))
                #expect(await server.waitForOpenConnections(1))
                client.send(Array(request[cut...]))
                #expect(client.reply().text == "hello", "cut at \(cut)")
                #expect(try await server.takeRequest().bodyCount == 5)
            }
        }
        #expect(server.requests.last?.trailers == ["X-Sum": "1"])
    }

    @Test func `Pipelined requests are served in their order`() throws {
        let server = try FixtureServer.start { request in
            request.path == "/slow" ? .text("slow").delayed(by: .milliseconds(20)) : .text("fast")
        }
        var client = try RawClient(port: server.port)
        let line = { (path: String) in "GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n" }
        client.send(line("/slow") + line("/fast") + "\r\n" + line("/slow"))
        #expect((0..<3).map { _ in client.reply().text } == ["slow", "fast", "slow"])
        #expect(server.requests.map(\.turn) == [1, 2, 3])
        #expect(server.totalConnections == 1)
    }

    @Test func `Expect is served with 100 Continue unless the options disable it`() throws {
        for sendsContinue in [true, false] {
            var options = ServerOptions()
            options.sendsContinue = sendsContinue
            let server = try FixtureServer.start(options) { .text($0.text) }
            var client = try RawClient(port: server.port)
            client.send("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
            if sendsContinue { #expect(client.reply().statusLine == "HTTP/1.1 100 Continue") }
            client.send("hi")
            #expect(client.reply().text == "hi")
        }
    }

    @Test(arguments: [
        ("GET / HTTP/1.0\r\n\r\n", RawClient.End.fin),
        ("GET / HTTP/1.1\r\nHost: h\r\nConnection: te, close\r\n\r\n", .fin),
    ])
    func `The connection ends when the client requests it`(request: String, end: RawClient.End) throws {
        let server = try FixtureServer.start { _ in .text("last") }
        var client = try RawClient(port: server.port)
        client.send(request)
        let reply = client.reply()
        #expect(reply.text == "last" && reply.header("Connection") == "close")
        #expect(client.readToEnd().end == end)
    }

    @Test func `HTTP 1.0 may keep the connection`() throws {
        let server = try FixtureServer.start { _ in .text("more") }
        var client = try RawClient(port: server.port)
        for _ in 0..<2 {
            client.send("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n")
            #expect(client.reply().header("Connection") == "keep-alive")
        }
    }

    @Test(arguments: [
        ("nonsense\r\n\r\n", 400), ("GET /\r\n\r\n", 400), ("G(T / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET / b HTTP/1.1\r\nHost: h\r\n\r\n", 505), ("GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505),
        ("GET / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n", 400),
        ("GET / HTTP/1.1\nHost: h\n\n", 400), ("GET / HTTP/1.1\r\nHost : h\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\r\n folded\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: h\r\nX: a\u{0}b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nX: a\rb\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", 400),
    ])
    func `Malformed requests are refused and end the connection`(request: String, status: Int) throws {
        let server = try FixtureServer.start { _ in .text("not reached") }
        var client = try RawClient(port: server.port)
        client.send(request)
        #expect(client.reply().status == status)
        #expect(client.readToEnd().end == .fin)
        #expect(server.requests.isEmpty)
    }

    @Test func `A head beyond the limit is refused`() throws {
        var options = ServerOptions()
        options.headLimit = 1000
        let server = try FixtureServer.start(options)
        for ending in ["", "\r\n\r\n"] {
            var client = try RawClient(port: server.port)
            client.send("GET / HTTP/1.1\r\nHost: h\r\nX: " + String(repeating: "x", count: 2000) + ending)
            #expect(client.reply().status == 431)
        }
    }

    @Test(arguments: ["FFFFFFFFFFFFFFFF", "8000000000000000"])
    func `A chunk size that does not fit in an integer is refused`(_ size: String) throws {
        let server = try FixtureServer.start { _ in .text("not reached") }
        var client = try RawClient(port: server.port)
        client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n\(size)\r\nab\r\n0\r\n\r\n")
        #expect(client.reply().status == 400)
        #expect(server.requests.isEmpty)
    }

    @Test func `Numbers are parsed up to the largest integer`() {
        for (text, radix, number) in [
            ("7fffffffffffffff", 16, Int64.max), ("8000000000000000", 16, nil), ("0", 10, 0), ("a", 10, nil),
            ("9999999999999999", 10, 9_999_999_999_999_999), ("", 10, nil),
        ] as [(String, Int64, Int64?)] {
            #expect(Array(text.utf8).withUnsafeBytes { $0.number(radix: radix) } == number, "\(text)")
        }
    }
}
