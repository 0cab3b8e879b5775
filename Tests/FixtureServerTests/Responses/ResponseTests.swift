import Foundation
import Testing
import TestSupport

@testable import FixtureServer

@Suite("Responses", .limitedConcurrency, .timeLimit(.minutes(10)))
struct ResponseTests {
    @Test func `Header lines keep their order, their duplicates and their bytes`() throws {
        let lines = HeaderLines([HeaderLine("x-b", bytes: [0xFF]), HeaderLine("X-A", "1"), HeaderLine("X-A", "2")])
        let server = try FixtureServer.start { _ in .text("ok", headers: lines).adding("X-Last", "3") }
        var client = try RawClient(port: server.port)
        client.request("GET", "/")
        let head = client.read(through: "\r\n\r\n")
        #expect(
            head == "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nx-b: \u{FFFD}\r\n"
                + "X-A: 1\r\nX-A: 2\r\nContent-Length: 2\r\nX-Last: 3\r\n\r\n"
        )
    }

    @Test func `A closing response has Connection close and ends the connection`() throws {
        let server = try FixtureServer.start { _ in .text("bye").closing() }
        for (method, body) in [("GET", "bye"), ("HEAD", "")] {
            var client = try RawClient(port: server.port)
            client.request(method, "/")
            let reply = client.reply(hasBody: method == "GET")
            #expect(reply.header("Connection") == "close" && reply.text == body)
            #expect(client.readToEnd() == ([], .fin))
        }
    }

    @Test func `A file is sent while it is read`() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 / 1000) }
        try Data(bytes).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let server = try FixtureServer.start { .representation(of: .file(file), to: $0) }
        var client = try RawClient(port: server.port)
        client.request("GET", "/")
        #expect(client.reply().body == bytes)
        client.request("GET", "/", ["Range: bytes=500000-999999"])
        #expect(client.reply().body == Array(bytes[500_000...]))
    }

    @Test func `The body of a missing file is empty`() throws {
        let server = try FixtureServer.start { _ in .file(URL(fileURLWithPath: "/nowhere")) }
        var client = try RawClient(port: server.port)
        client.request("GET", "/")
        #expect(client.reply().header("Content-Length") == "0")
    }

    @Test func `A client that reads endlessly does not delay the others`() async throws {
        let server = try FixtureServer.start()
        let enough = Gate()
        // A separate thread: on one core, the tasks of all tests share one thread of Dispatch.
        Thread.detachNewThread {
            guard var greedy = try? RawClient(port: server.port) else { return }
            greedy.request("GET", "/endless/body")
            while !enough.isOpen, greedy.read(65_536).count == 65_536 {}
        }
        _ = try await server.takeRequest()
        for _ in 0..<10 {
            var client = try RawClient(port: server.port)
            client.request("GET", "/status/200")
            #expect(client.reply().status == 200)
        }
        enough.open()
        #expect(await server.waitForOpenConnections(0))
    }

    @Test func `A throttled response arrives slowly and completely`() throws {
        let server = try FixtureServer.start { _ in
            .stream(.counting(10_000)).throttled(bytesPerSecond: 100_000)
        }
        var client = try RawClient(port: server.port)
        let start = ContinuousClock.now
        client.request("GET", "/")
        let counting: [UInt8] = (0..<10_000).map { UInt8(truncatingIfNeeded: $0) }
        #expect(client.reply().body == counting)
        #expect(ContinuousClock.now - start >= .milliseconds(50))
    }

    @Test func `An error of a handler is a 500 with its description`() throws {
        struct Sorry: Error {}
        var routes = RouteTable()
        routes.get("/") { _ in throw Sorry() }
        let server = try FixtureServer.start(routes: routes)
        var client = try RawClient(port: server.port)
        client.request("GET", "/")
        let reply = client.reply()
        #expect(reply.status == 500 && reply.text == "Sorry()")
    }
}

@Suite("Compression", .limitedConcurrency, .timeLimit(.minutes(10)))
struct CompressionTests {
    @Test(.startsPrograms, arguments: [0, 1, 257, 258, 259, 2322, 2323, 100_000, 100_001] as [Int64])
    func `A bomb is valid gzip and zlib with correct checksums`(count: Int64) throws {
        let zeros = [UInt8](repeating: 0, count: Int(count))
        #expect(try Gunzip.run(DecompressionBomb.gzip(count)) == zeros)
        #expect(CRC32.ofZeros(count) == CRC32.of(zeros))
        #expect(DecompressionBomb.zlib(count).count == DecompressionBomb.gzip(count).count - 12)
    }

    @Test func `A bomb of a gibibyte is small`() {
        #expect(DecompressionBomb.gzip(1 << 30).count < 7 << 20)
    }

    @Test(.startsPrograms, arguments: [0, 1, 2000, 65_535, 65_536, 200_000])
    func `Stored blocks are valid gzip`(count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        #expect(try Gunzip.run(Gzip.encode(bytes)) == bytes)
    }
}
