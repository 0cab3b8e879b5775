import ErrandInspector
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand

@Suite("Archives of real loads", .limitedConcurrency, .timeLimit(.minutes(5)))
struct LiveArchiveTests {
    private let server: FixtureServer
    private let recorder = HARRecorder(includesSecrets: true)
    private let proxy: APIProxy

    init() throws {
        server = try FixtureServer.start { RouteTable.standard.response(to: $0) }
        proxy = APIProxy(monitors: [recorder])
    }

    /// Sends requests of every kind, one after the other.
    private func sendAll() async {
        let json: HTTPHeaders = ["Content-Type": "application/json"]
        let requests = [
            HTTPRequest(.get, server.url("/anything?page=1")),
            HTTPRequest(.post, server.url("/anything"), headers: json, body: .data(Data(#"{"id":7}"#.utf8))),
            HTTPRequest(.post, server.url("/post"), body: .data(Data(count: 300_000))),
            HTTPRequest(.get, server.url("/gzip")), HTTPRequest(.get, server.url("/chunked/5000")),
            HTTPRequest(.get, server.url("/status/404")), HTTPRequest(.get, server.url("/cookies/set?sid=1")),
            HTTPRequest(.get, server.url("/redirect/2")),
        ]
        for request in requests { _ = try? await proxy.send(request) }
        _ = try? await proxy.send(HTTPRequest(.get, server.url("/drop/mid-body")))
    }

    @Test("The bytes of requests equal those that the server has received, and of responses those that it has sent")
    func bytes() async throws {
        await sendAll()
        let entries = try recorder.entries()
        let requests = server.requests
        // The redirects of the cookie route and of the two others are separate exchanges.
        #expect(entries.count == 12)
        #expect(entries.map(\.request.method) == requests.map(\.method))
        #expect(entries.map(\.request.headersSize) == requests.map(\.head.bytes.count))
        #expect(entries.map(\.request.bodySize) == requests.map { Int($0.bodyCount) })
        for entry in entries where entry._state != "failed" {
            let lines = entry.response.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
            let statusLine = "HTTP/1.1 \(entry.response.status) \(entry.response.statusText)\r\n".utf8.count
            #expect(entry.response.headersSize == statusLine + lines + 2, "\(entry.request.url)")
            let length = entry.response.headers.first { $0.name.lowercased() == "content-length" }
            if let length { #expect(entry.response.bodySize == Int(length.value), "\(entry.request.url)") }
        }
        #expect(entries[2]._truncated == true && entries[2].request.bodySize == 300_000)
        // Without the framing of chunks.
        #expect(entries[4].response.bodySize == entries[4].response.content.size)
        let gzip = entries[3].response
        #expect(gzip.content.compression == gzip.content.size - gzip.bodySize)
        #expect((entries.last?._state, entries.last?._error?.isEmpty) == ("failed", false))
    }

    @Test("Timings are of one connection, and their sum is the time")
    func timings() async throws {
        await sendAll()
        let entries = try recorder.entries()
        for entry in entries {
            let applying = entry.timings.filter { $0.key != "ssl" && $0.value >= 0 }
            #expect(abs(entry.time - applying.values.reduce(0, +)) < 0.000_5)
            #expect(entry.timings.allSatisfy { $0.value >= 0 || $0.value == -1 })
            #expect(entry.request.httpVersion == "HTTP/1.1")
            #expect(entry.serverIPAddress == "127.0.0.1")
        }
        #expect((entries.first?.timings["connect"] ?? -1) >= 0)
        #expect(entries.dropFirst().first?.timings["connect"] == -1)
        #expect(Set(entries.prefix(5).map(\.connection)).count == 1)
    }

    @Test("A cancelled load and one without a server are entries with their errors")
    func failures() async throws {
        let load = Task { try await proxy.send(HTTPRequest(.get, server.url("/hang"))) }
        _ = try await server.takeRequest()
        load.cancel()
        _ = await load.result
        let port = server.port
        server.stop()
        _ = try? await proxy.send(HTTPRequest(.get, server.url("/")))
        let entries = try recorder.entries()
        #expect(entries.map(\.response.status) == [0, 0])
        #expect(entries.map(\._state) == ["cancelled", "failed"])
        #expect(entries.last?._error?.contains("transport") == true)
        #expect(entries.last?.request.url == "http://127.0.0.1:\(port)/")
    }

    @Test(
        "The archive of real loads fulfils the schema, and two readers find all entries",
        .enabled(if: Program.hasReaders, ".ci/run has not installed jsonschema, haralyzer and hario-core"),
        .enabled(if: SharedData.harSchema.exists, "no ../shared/data/har-schema")
    )
    func schema() async throws {
        await sendAll()
        let check = try await ArchiveCheck(of: recorder)
        #expect(check.violations == [])
        #expect((check.haralyzer, check.hario) == (12, 12))
    }
}
