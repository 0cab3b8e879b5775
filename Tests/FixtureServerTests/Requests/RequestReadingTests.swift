import ErrandSigning
import Foundation
import Testing
import TestSupport

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

@Suite("Recording", .limitedConcurrency, .timeLimit(.minutes(10)))
struct RecordingTests {
    @Test func `Requests are taken in the order of their arrival, after a wait if necessary`() async throws {
        let server = try FixtureServer.start { _ in .text("ok") }
        async let first = server.takeRequest()
        let client = try RawClient(port: server.port)
        for path in ["/1", "/2", "/3"] { client.request("GET", path) }
        #expect(try await first.path == "/1")
        #expect(try await server.takeRequest().path == "/2")
        #expect(try await server.takeRequest().path == "/3")
        #expect(server.requests.map(\.path) == ["/1", "/2", "/3"])
    }

    @Test func `A wait ends at its timeout, when the task is cancelled and when the server stops`() async throws {
        let server = try FixtureServer.start { _ in .text("ok") }
        await #expect(throws: NoRequest.self) { try await server.takeRequest(timeout: .milliseconds(1)) }
        let cancelled = Task { try await server.takeRequest(timeout: .seconds(60)) }
        cancelled.cancel()
        await #expect(throws: NoRequest.self) { try await cancelled.value }
        let stopped = Task { try await server.takeRequest(timeout: .seconds(60)) }
        server.stop()
        await #expect(throws: NoRequest.self) { try await stopped.value }
        await #expect(throws: NoRequest.self) { try await server.takeRequest(timeout: .seconds(60)) }
    }

    @Test func `Only the last requests are kept, and all are counted`() async throws {
        var options = ServerOptions()
        options.recordedRequests = 5
        let server = try FixtureServer.start(options) { .text($0.path) }
        var client = try RawClient(port: server.port)
        for index in 1...100 {
            client.request("GET", "/\(index)")
            #expect(client.reply().text == "/\(index)")
        }
        #expect(server.totalRequests == 100)
        #expect((5..<10).contains(server.requests.count))
        #expect(server.requests.last?.path == "/100")
        server.removeRecordedRequests()
        #expect(server.requests.isEmpty && server.totalRequests == 100)
    }

    @Test func `Bodies are kept, hashed or discarded`() async throws {
        let body = (0..<300_000).map { UInt8($0 & 255) }
        var options = ServerOptions()
        options.bodyHandling = { head in
            switch head.path {
            case "/digest": .digest
            case "/discard": .discard
            default: .keep(upTo: 1000)
            }
        }
        let server = try FixtureServer.start(options) { _ in .text("ok") }
        for path in ["/keep", "/digest", "/discard"] {
            var client = try RawClient(port: server.port)
            client.request("POST", path, body: body)
            #expect(client.reply().status == 200)
        }
        let requests = server.requests
        #expect(requests.map(\.bodyCount) == [300_000, 300_000, 300_000])
        #expect(requests.map(\.body.count) == [1000, 0, 0])
        #expect(requests.map(\.bodySHA256) == [nil, SHA256.hexadecimal(of: body), nil])
    }

    @Test func `A body waits in the socket until the test opens the gate`() async throws {
        let gate = Gate()
        var options = ServerOptions()
        options.bodyHandling = { _ in .pause(after: 1, until: gate) }
        let server = try FixtureServer.start(options) { _ in .text("ok") }
        var client = try RawClient(port: server.port)
        client.request("POST", "/", body: [UInt8](repeating: 1, count: 300_000))
        #expect(await !server.waitForTotalRequests(1, timeout: .milliseconds(20)))
        gate.open()
        #expect(client.reply().text == "ok")
        #expect(try await server.takeRequest().bodyCount == 300_000)
    }
}

@Suite("SHA-256", .limitedConcurrency, .timeLimit(.minutes(10)))
struct SHA256Tests {
    @Test(arguments: [
        (0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"),
        (56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"),
        (64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"),
        (1000, "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"),
    ])
    func `The hash is that of the standard, in whatever pieces the bytes arrive`(count: Int, expected: String) throws {
        let bytes = [UInt8](repeating: 0x61, count: count)
        #expect(SHA256.hexadecimal(of: bytes) == expected)
        for size in [1, 63, 64, 65] {
            var hash = try PlatformCrypto.RunningHash(.sha256)
            for start in stride(from: 0, to: count, by: size) {
                try hash.add(Data(bytes[start..<min(count, start + size)]))
            }
            let bytes = try hash.finish()
            #expect(SHA256.hexadecimal(bytes) == expected)
        }
    }

    // RFC 4231, test cases 1, 2, 6 and 7.
    @Test(arguments: [
        (
            [UInt8](repeating: 0x0b, count: 20), "Hi There",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            Array("Jefe".utf8), "what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            [UInt8](repeating: 0xaa, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
        (
            [UInt8](repeating: 0xaa, count: 131),
            "This is a test using a larger than block-size key and a larger than block-size data."
                + " The key needs to be hashed before being used by the HMAC algorithm.",
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
        ),
    ])
    func `The HMAC is that of RFC 4231`(key: [UInt8], text: String, expected: String) {
        #expect(SHA256.hexadecimal(SHA256.hmac(of: text.utf8, key: key)) == expected)
    }
}
