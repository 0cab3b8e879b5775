import ErrandInspector
import Foundation
import Testing

@testable import Errand

@Suite("Entries of an archive")
struct EntryTests {
    @Test("An exchange is one entry with all members")
    func members() throws {
        let session = Session(HARRecorder(includesSecrets: true))
        let url = URL.shop("/orders?page=2&text=a%20b+c#top")
        var headers: HTTPHeaders = ["Cookie": "sid=1; theme=dark; ", "Content-Type": "application/json"]
        // The transport sends its own.
        headers["Host"] = "other.example"
        let request = HTTPRequest(.post, url, headers: headers, body: .data(Data(#"{"a":1}"#.utf8)))
        var response = HTTPResponse(status: 200, headers: ["Content-Type": "text/plain"], body: Data("Grüße".utf8))
        response.headers.append("Set-Cookie", "sid=2; Path=/; HttpOnly; Secure; Expires=Wed, 09 Jun 2027 10:18:14 GMT")
        response.timings = .sample()
        session.respond(request, response)
        let entry = try #require(try session.recorder.entries().first)

        #expect(entry.request.method == "POST")
        #expect(entry.request.url == "https://api.shop.example/orders?page=2&text=a%20b+c")
        #expect(entry.request.httpVersion == "HTTP/2")
        #expect(entry.request.headers.map(\.name) == ["Cookie", "Content-Type"])
        #expect(entry.request.cookies.map(\.name) == ["sid", "theme"])
        #expect(entry.request.cookies.map(\.value) == ["1", "dark"])
        #expect(entry.request.queryString == [.init(name: "page", value: "2"), .init(name: "text", value: "a b c")])
        #expect(entry.request.postData?.text == #"{"a":1}"#)
        #expect((entry.request.headersSize, entry.request.bodySize) == (210, 0))
        #expect(entry.response.statusText == "OK")
        #expect(entry.response.content.text == "Grüße")
        #expect((entry.response.headersSize, entry.response.bodySize) == (160, 40))
        #expect((entry.response.content.size, entry.response.content.compression) == (7, -33))
        let cookie = try #require(entry.response.cookies.first)
        #expect((cookie.name, cookie.value, cookie.path) == ("sid", "2", "/"))
        #expect(cookie.expires == "2027-06-09T10:18:14.000Z")
        #expect(cookie.httpOnly == true && cookie.secure == true)
        #expect((entry.serverIPAddress, entry.connection) == ("192.0.2.7", "3"))
        #expect((entry._load, entry._attempt, entry._state) == (1, 1, "responded"))
    }

    @Test("The time is the sum of the timings without TLS, which the connection contains")
    func time() throws {
        let session = Session()
        var response = HTTPResponse(status: 204)
        response.timings = .sample()
        session.respond(HTTPRequest(.get, .shop("/")), response)
        let entry = try #require(try session.recorder.entries().first)
        // 100 ms in all, of which 94 are measured: the other 6 are time before the connection.
        #expect(
            entry.timings == [
                "blocked": 10, "dns": 5, "connect": 30, "ssl": 20, "send": 1, "wait": 50, "receive": 8,
            ]
        )
        #expect(entry.time == 104)
        // The time in the queue is before the time at which the transport has the request.
        #expect(entry.startedDateTime == "2027-01-15T07:59:59.996Z")
    }

    @Test("Without timings, the times of the events are used, and what does not apply is -1")
    func estimate() throws {
        let session = Session()
        session.respond(HTTPRequest(.get, .shop("/")), HTTPResponse(status: 200), at: 10, taking: 30, queue: 7)
        let entry = try #require(try session.recorder.entries().first)
        #expect(
            entry.timings == ["blocked": 7, "dns": -1, "connect": -1, "ssl": -1, "send": 1, "wait": 28, "receive": 1]
        )
        #expect(entry.time == 37)
        #expect((entry.request.headersSize, entry.response.headersSize, entry.response.bodySize) == (-1, -1, -1))
        #expect(entry.serverIPAddress == nil && entry.connection == nil)
    }

    @Test("The body of a stream is not one of no bytes", arguments: [nil, 5_000_000] as [Int64?])
    func stream(_ received: Int64?) throws {
        let session = Session()
        var response = HTTPResponse(status: 200)
        response.isStreamed = true
        if let received {
            response.timings = .sample()
            response.timings?.decodedBodyBytes = received
        }
        session.respond(HTTPRequest(.get, .shop("/events")), response)
        let content = try #require(try session.recorder.entries().first).response.content
        #expect(content.size == Int(received ?? -1))
        #expect(content.comment == "The body was passed on while it arrived.")
    }

    @Test("The time in the queue is that of the first exchange of a load, also when its redirect is served first")
    func queueOfRedirects() throws {
        let session = Session()
        let date = Date(timeIntervalSince1970: 1_800_000_000)
        let first = session.begin(HTTPRequest(.get, .shop("/old")))
        var redirect = HTTPResponse(status: 302, headers: ["Location": "/new"])
        redirect.timings = ExchangeTimings(startedAt: date, total: .milliseconds(1))
        session.send(.redirected(redirect), exchange: first, at: 1)
        var response = HTTPResponse(status: 200)
        // Longer than the first exchange has taken.
        response.timings = .sample(at: date + 0.001)
        session.respond(HTTPRequest(.get, .shop("/new")), response, at: 1)
        let entries = try session.recorder.entries()
        #expect(entries.map(\.response.status) == [302, 200])
        #expect(entries.map(\.time) == [1, 100])
    }

    @Test("A binary body is Base64, and text is decoded by its character set")
    func bodies() throws {
        let session = Session(HARRecorder(includesSecrets: true))
        let bodies: [(String?, [UInt8])] = [
            ("image/png", [0x89, 0x50, 0x00]), ("text/plain; charset=ISO-8859-1", [0xE4]), (nil, Array("x\n".utf8)),
            ("application/octet-stream", [0, 1]),
        ]
        for (type, bytes) in bodies {
            let response = HTTPResponse(status: 200, headers: ["Content-Type": type], body: Data(bytes))
            session.respond(HTTPRequest(.get, .shop("/")), response)
        }
        let contents = try session.recorder.entries().map(\.response.content)
        #expect(contents.map(\.text) == ["iVAA", "ä", "x\n", "AAE="])
        #expect(contents.map(\.encoding) == ["base64", nil, nil, "base64"])
        #expect(contents.map(\.size) == [3, 1, 2, 2])
    }

    @Test("Files and streams of a request are named in a comment, without their bytes")
    func pieces() throws {
        let session = Session(HARRecorder(includesSecrets: true))
        let file = HTTPBody.Piece.file(URL(filePath: "/tmp/portrait.png"))
        let body = HTTPBody([.data(Data("--x\r\n".utf8)), file, .data(Data("\r\n--x--".utf8))])
        session.respond(HTTPRequest(.post, .shop("/"), body: body), HTTPResponse(status: 200))
        let data = try #require(try session.recorder.entries().first?.request.postData)
        #expect(data.text == "--x\r\n\r\n--x--")
        #expect(data.comment == "Without the bytes of the file portrait.png.")
    }
}

@Suite(
    "Archives in other programs",
    .enabled(if: Program.hasReaders, ".ci/run has not installed jsonschema, haralyzer and hario-core"),
    .enabled(if: SharedData.harSchema.exists, "no ../shared/data/har-schema")
)
struct SchemaTests {
    @Test("A session fulfils the schema, and two readers find all entries", arguments: [false, true])
    func session(includesSecrets: Bool) async throws {
        let session = Session(HARRecorder(includesSecrets: includesSecrets))
        session.visitShop()
        let check = try await ArchiveCheck(of: session.recorder)
        #expect(check.violations == [])
        #expect(session.recorder.count == 15)
        #expect(check.haralyzer == 15)
        #expect(check.hario == 15)
        #expect(
            check.haralyzerRequests.sorted()
                == (try session.recorder.entries()).map { entry in
                    "\(entry.request.method) \(entry.response.status)"
                }.sorted()
        )
    }

    @Test("An archive without exchanges fulfils the schema")
    func empty() async throws {
        let check = try await ArchiveCheck(of: HARRecorder())
        #expect(check.violations == [])
        #expect((check.haralyzer, check.hario) == (0, 0))
    }

    @Test("Hostile strings fulfil the schema", arguments: [false, true])
    func hostile(includesSecrets: Bool) async throws {
        let session = Session(HARRecorder(includesSecrets: includesSecrets))
        let strings = HostileStrings.own + (try SharedData.strings())
        session.respond(withEach: strings)
        let check = try await ArchiveCheck(of: session.recorder)
        #expect(check.violations == [])
        #expect((check.haralyzer, check.hario) == (strings.count, strings.count))
    }
}
