import ErrandInspector
import Foundation
import Testing

@testable import Errand

@Suite("Recording of exchanges")
struct RecordingTests {
    private let session = Session()
    private let request = HTTPRequest(.get, .shop("/orders"))

    private func entries() throws -> [Archive.Entry] { try session.recorder.entries() }

    @Test("A redirect has an entry of its own", arguments: [false, true])
    func redirect(hasNumberOfItsOwn: Bool) throws {
        let number = session.begin(request)
        let response = HTTPResponse(status: 302, headers: ["Location": "/login"])
        session.send(.redirected(response), exchange: number, at: 5)
        let next = hasNumberOfItsOwn ? number + 1 : number
        session.send(.requestMade(HTTPRequest(.get, .shop("/login"))), exchange: next, at: 5)
        session.send(.responded(APIResponse(HTTPResponse(status: 200), url: .shop("/login"))), exchange: next, at: 9)
        session.send(.ended(.success), at: 9)
        let entries = try entries()
        #expect(entries.map(\.response.status) == [302, 200])
        #expect(entries.map(\.response.redirectURL) == ["/login", ""])
        #expect(entries.map(\._state) == ["redirected", "responded"])
        #expect(entries.map(\._load) == [1, 1])
    }

    @Test("Retries and replays name their load, their try, and what they waited for")
    func again() throws {
        session.respond(request, HTTPResponse(status: 503), attempt: 1)
        session.send(.waiting(.retry, limit: .seconds(1)), at: 20)
        session.send(.tryingAgain, at: 30)
        session.respond(request, HTTPResponse(status: 401), attempt: 2, at: 40)
        session.send(.waiting(.login, limit: nil), at: 60)
        session.respond(request, HTTPResponse(status: 200), load: 2, at: 61)
        session.send(.renewed(.login), at: 80)
        session.send(.tryingAgain, at: 80)
        session.respond(request, HTTPResponse(status: 200), attempt: 3, at: 90)
        let entries = try entries()
        #expect(entries.map(\._load) == [1, 1, 2, 1])
        #expect(entries.map(\._attempt) == [1, 2, 1, 3])
        #expect(entries.map(\._cause) == [nil, "retry", nil, "login"])
    }

    @Test("Loads that share an exchange have one entry with all of their IDs")
    func shared() throws {
        let number = session.begin(request, load: 1)
        session.send(.joined, load: 2, exchange: number, at: 1)
        session.send(.requestMade(request), load: 3, exchange: number, at: 1)
        // The exchange goes on for the others.
        session.send(.ended(.cancelled), load: 1, at: 2)
        let response = APIEvent.Kind.responded(APIResponse(HTTPResponse(status: 200), url: request.url))
        for load in [2, 3] as [UInt64] {
            session.send(response, load: load, exchange: number, at: 8)
            session.send(.ended(.success), load: load, at: 9)
        }
        let entries = try entries()
        #expect(entries.map(\._loads) == [[1, 2, 3]])
        #expect(entries.map(\.response.status) == [200])
        #expect(entries.map(\.time) == [8])
        #expect(entries.map(\._error) == [nil])
    }

    @Test("A shared exchange has one entry although a load reports it after its redirect")
    func sharedRedirect() throws {
        let number = session.begin(request, load: 1)
        session.send(.redirected(HTTPResponse(status: 302)), load: 1, exchange: number, at: 1)
        session.send(.requestMade(request), load: 2, exchange: number, at: 2)
        #expect(try entries().map(\._loads) == [[1, 2]])
    }

    @Test("The error of a shared exchange replaces that of a load that has ended before it")
    func sharedFailure() throws {
        let number = session.begin(request, load: 1)
        session.send(.joined, load: 2, exchange: number, at: 1)
        session.send(.ended(.failure(APIError(.timeout, reason: "the deadline of load 1"))), load: 1, at: 2)
        var cause = TransportError(.connectionLost, "reset")
        cause.timings = ExchangeTimings(startedAt: Date(), total: .milliseconds(30))
        let error = APIError(.transport, reason: cause.reason, underlying: cause)
        session.send(.failed(error), load: 2, exchange: number, at: 30)
        session.send(.ended(.failure(error)), load: 2, at: 30)
        let entry = try #require(try entries().first)
        #expect((entry._error, entry._state, entry.time) == ("transport, reset", "failed", 30))
    }

    @Test("An exchange that fails has status 0, its error, and what was measured")
    func failed() throws {
        var cause = TransportError(.timeout, "no byte for 3 s")
        var timings = ExchangeTimings(startedAt: Date(), total: .milliseconds(30))
        timings.connect = .milliseconds(10)
        timings.sentHeaderBytes = 120
        cause.timings = timings
        let error = APIError(.timeout, reason: cause.reason, underlying: cause)
        let number = session.begin(request)
        session.send(.failed(error), exchange: number, at: 30)
        session.send(.ended(.failure(error)), at: 30)
        let entry = try #require(try entries().first)
        #expect((entry.response.status, entry.response.content.size) == (0, 0))
        #expect(entry._error == "timeout, no byte for 3 s")
        #expect(entry._state == "failed")
        #expect((entry.timings["connect"], entry.timings["wait"], entry.time) == (10, 20, 30))
        #expect(entry.request.headersSize == 120)
    }

    @Test(arguments: [false, true])
    func `A response whose body is not complete has its head, and a comment on the bytes that are missing`(
        _ hasHead: Bool
    ) throws {
        var cause = TransportError(.connectionLost, "reset")
        var timings = ExchangeTimings(startedAt: Date(), total: .milliseconds(30))
        timings.sentHeaderBytes = 120
        timings.receivedHeaderBytes = 40
        if hasHead { (timings.receivedBodyBytes, timings.decodedBodyBytes) = (300, 500) }
        cause.timings = timings
        let error = APIError(.transport, reason: cause.reason, underlying: cause)
        let number = session.begin(request)
        if hasHead { session.send(.headReceived(status: 200, headers: ["X-A": "1"]), exchange: number, at: 10) }
        session.send(.failed(error), exchange: number, at: 30)
        session.send(.ended(.failure(error)), at: 30)
        let entry = try #require(try entries().first)
        #expect(entry.response.content.text == nil)
        #expect(entry.response.content.size == (hasHead ? 500 : 0))
        #expect(entry.response.content.comment?.contains("500 bytes") == (hasHead ? true : nil))
        // No bytes are counted of a head whose lines are not listed.
        #expect(entry.response.headers.isEmpty == !hasHead)
        #expect(entry.response.headersSize == (hasHead ? 40 : -1))
        #expect(entry.request.comment?.contains("Host") == true)
    }

    @Test("A response that its load has refused names the error")
    func refused() throws {
        session.respond(request, HTTPResponse(status: 200))
        session.send(.ended(.failure(APIError(.decoding, reason: "no id"))), at: 12)
        let entry = try #require(try entries().first)
        #expect(entry.response.status == 200)
        #expect(entry._error == "decoding, no id")
        #expect(entry._state == "responded")
    }

    @Test("A cancelled exchange ends with its load, with the head that was received")
    func cancelled() throws {
        let number = session.begin(request)
        session.send(.headReceived(status: 200, headers: ["Server": "x"]), exchange: number, at: 10)
        session.send(.ended(.cancelled), at: 15)
        let entry = try #require(try entries().first)
        #expect((entry._state, entry._error) == ("cancelled", "cancelled"))
        #expect(entry.response.status == 200)
        #expect(entry.response.headers == [.init(name: "Server", value: "x")])
        #expect(entry.time == 15)
    }

    @Test("An exchange in flight and a stored response are entries as well")
    func others() throws {
        session.begin(request)
        let stored = APIResponse(HTTPResponse(status: 200, body: Data("x".utf8)), url: .shop("/stored"))
        session.send(.respondedFromCache(stored.from(.cache, age: .seconds(90))), load: 2, at: 1)
        let entries = try entries()
        #expect(entries.map(\._state) == ["open", "cached"])
        #expect(entries.map(\._fromCache) == [nil, "disk"])
        #expect(entries.map(\._cacheAge) == [nil, 90])
        #expect(entries.map(\.request.url).last == "https://api.shop.example/stored")
        #expect(entries.map(\.response.bodySize).last == 0)
    }

    @Test("Exchanges are in the order of their beginnings")
    func order() throws {
        session.respond(HTTPRequest(.get, .shop("/second")), HTTPResponse(status: 200), load: 1, at: 50)
        session.respond(HTTPRequest(.get, .shop("/first")), HTTPResponse(status: 200), load: 2, at: 20)
        #expect(try entries().map(\._load) == [2, 1])
    }

    @Test("After clear, nothing is left, and events of older exchanges are ignored")
    func clear() throws {
        let number = session.begin(request)
        session.recorder.removeAll()
        session.send(.failed(APIError(.timeout)), exchange: number, at: 3)
        #expect(session.recorder.count == 0)
        session.respond(request, HTTPResponse(status: 200), load: 2)
        #expect(try entries().map(\._load) == [2])
    }

    @Test("A request that is recorded does not keep the observer of its load")
    func observer() throws {
        final class Load: Sendable {}
        weak var released: Load?
        func record() {
            let load = Load()
            released = load
            var request = request
            request.observer = { _ in withExtendedLifetime(load) {} }
            session.begin(request)
        }
        record()
        #expect(released == nil)
        #expect(session.recorder.count == 1)
    }

    @Test("A request that is recorded does not keep what its stream has captured")
    func stream() throws {
        final class Source: Sendable {}
        weak var released: Source?
        func record() {
            let source = Source()
            released = source
            var request = request
            request.body = .stream {
                withExtendedLifetime(source) { AsyncStream<Data> { $0.finish() } }
            }
            session.begin(request)
        }
        record()
        #expect(released == nil)
        #expect(session.recorder.count == 1)
    }
}

@Suite("Recording and exporting at the same time", .timeLimit(.minutes(5)))
struct HARConcurrencyTests {
    @Test("Exports are complete while loads are recorded and removed")
    func export() async throws {
        var limits = HARRecorder.Limits()
        limits.exchanges = 50
        let recorder = HARRecorder(limits: limits)
        let loads = 4 as UInt64
        try await withThrowingTaskGroup { group in
            for worker in 0..<loads {
                group.addTask { record(500, by: worker, in: recorder) }
            }
            for round in 0..<10 {
                group.addTask {
                    let entries = try recorder.entries()
                    #expect(entries.count <= 50)
                    #expect(entries.allSatisfy { $0._state == "open" || $0._state == "responded" })
                    #expect(!recorder.report().isEmpty)
                    if round == 5 { recorder.removeAll() }
                }
            }
            try await group.waitForAll()
        }
        #expect(recorder.count <= 50)
        record(60, by: loads, in: recorder)
        let entries = try recorder.entries()
        #expect(recorder.count == 50 && entries.count == 50)
        #expect(entries.allSatisfy { $0._state == "responded" })
    }

    private func record(_ count: UInt64, by worker: UInt64, in recorder: HARRecorder) {
        for number in 0..<count {
            let exchange = worker * 1_000_000 + number + 1
            let id = RequestID(rawValue: exchange)
            let request = HTTPRequest(.get, .shop("/\(exchange)"))
            let response = APIResponse(HTTPResponse(status: 200, body: Data("x".utf8)), url: request.url)
            let kinds: [APIEvent.Kind] = [
                .began, .queued, .started, .requestMade(request), .sent, .headReceived(status: 200, headers: [:]),
                .responded(response), .ended(.success),
            ]
            for kind in kinds { recorder.observe(APIEvent(kind, id: id, attempt: 1, exchange: exchange)) }
        }
    }
}

@Suite("Files of a recorder")
struct FileTests {
    private let folder: TemporaryFolder
    private let recorder: HARRecorder

    init() throws {
        folder = try TemporaryFolder()
        let session = Session()
        session.respond(HTTPRequest(.get, .shop("/")), HTTPResponse(status: 200))
        recorder = session.recorder
    }

    private func mode(of file: URL) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
    }

    @Test("Only the owner may read the files, and no temporary file is left")
    func permissions() throws {
        try recorder.write(to: folder.file("session.har"))
        try recorder.writeReport(to: folder.file("session.html"))
        #expect(try mode(of: folder.file("session.har")) == 0o600)
        #expect(try mode(of: folder.file("session.html")) == 0o600)
        #expect(try folder.names == ["session.har", "session.html"])
        #expect(try Data(contentsOf: folder.file("session.har")) == recorder.data())
    }

    @Test("An existing file is replaced with its permissions, and a link is not followed")
    func replace() throws {
        let (target, link) = (folder.file("target"), folder.file("link.har"))
        try Data("kept".utf8).write(to: target)
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: target)
        try recorder.write(to: link)
        #expect(try Data(contentsOf: target) == Data("kept".utf8))
        #expect(try mode(of: link) == 0o600)
        try recorder.write(to: target)
        #expect(try mode(of: target) == 0o600)
    }

    @Test("A missing folder, a folder in the place of the file and a web address are errors with advice")
    func errors() throws {
        let missing = folder.file("missing/session.har")
        let error = #expect(throws: HARRecorder.WriteError.self) { try recorder.write(to: missing) }
        #expect(error?.kind == .missingFolder)
        #expect(error?.description.hasSuffix("(open: No such file or directory); create its folder first") == true)
        #expect(error?.description.hasPrefix(missing.path) == true)

        #expect(throws: HARRecorder.WriteError.self) { try recorder.writeReport(to: folder.url) }
        let web = #expect(throws: HARRecorder.WriteError.self) { try recorder.write(to: .shop("/session.har")) }
        #expect(web?.kind == .notAFile)
        #expect(try folder.names.isEmpty)
    }

    @Test("A pipe or a device is not replaced, also behind a link")
    func pipe() throws {
        let (pipe, link) = (folder.file("pipe"), folder.file("link"))
        #expect(mkfifo(pipe.path, 0o600) == 0)
        #expect(symlink(pipe.path, link.path) == 0)
        for file in [pipe, link] {
            let error = #expect(throws: HARRecorder.WriteError.self) { try recorder.write(to: file) }
            #expect(error?.reason == "not a regular file: File exists")
        }
        #expect(try folder.names.sorted() == ["link", "pipe"])
    }

    #if os(Linux)
    @Test(
        "A full disk is an error with advice, and leaves the old file",
        .enabled(if: Program.canMount, "cannot mount")
    )
    func fullDisk() async throws {
        let script =
            #"mount -t tmpfs -o size=64k none "$0" && echo old > "$0/f" && "$1" archive "$0/f"; ls -A "$0"; cat "$0/f""#
        let probe = Program.built("cookie-probe")
        let ending = try await Program.run(["unshare", "-m", "sh", "-c", script, folder.url.path, probe])
        let lines = ending.output.split(separator: "\n").map(String.init)
        #expect(lines.count == 3)
        let advice = "cannot be written (write: No space left on device); free some space, or lower HARRecorder.Limits"
        #expect(lines.first == "\(folder.url.path)/f \(advice)")
        #expect(lines.dropFirst() == ["f", "old"])
    }
    #endif
}

@Suite("Limits of a recorder")
struct LimitTests {
    private func session(exchanges: Int = 1_000, bytes: Int = 32 << 20, bodyBytes: Int = 256 << 10) -> Session {
        var limits = HARRecorder.Limits()
        (limits.exchanges, limits.bytes, limits.bodyBytes) = (exchanges, bytes, bodyBytes)
        return Session(HARRecorder(includesSecrets: true, limits: limits))
    }

    @Test("The newest exchanges stay, and the archive has the number of those that were removed")
    func ring() throws {
        let session = session(exchanges: 10)
        for load in 1...25 as ClosedRange<UInt64> {
            session.respond(HTTPRequest(.get, .shop("/\(load)")), HTTPResponse(status: 200), load: load, at: Int(load))
            session.send(.ended(.success), load: load, at: Int(load))
        }
        #expect(session.recorder.count == 10)
        #expect(try session.recorder.entries().map(\._load) == Array(16...25))
        let archive = try JSONDecoder().decode(Archive.self, from: session.recorder.data())
        #expect(archive.log.comment.contains("15 older exchanges were removed"))
        #expect(String(decoding: session.recorder.report(), as: UTF8.self).contains("15 older exchanges were removed"))
    }

    @Test("Without an exchange to keep, nothing is recorded", arguments: [0, -1])
    func none(exchanges: Int) throws {
        let session = session(exchanges: exchanges)
        session.respond(HTTPRequest(.get, .shop("/")), HTTPResponse(status: 200))
        session.send(.ended(.success))
        #expect(session.recorder.count == 0)
    }

    @Test("Headers and bodies together have a limit of bytes")
    func bytes() throws {
        let session = session(bytes: 100_000)
        for load in 1...20 as ClosedRange<UInt64> {
            let response = HTTPResponse(
                status: 200,
                headers: ["X-Filler": String(repeating: "h", count: 10_000)],
                body: Data(repeating: 0x41, count: 10_000)
            )
            session.respond(HTTPRequest(.get, .shop("/")), response, load: load, at: Int(load))
        }
        #expect(session.recorder.count == 4)
        #expect(try session.recorder.entries().map(\._load) == [17, 18, 19, 20])
    }

    @Test("An error of a load does not keep the body of its response")
    func error() throws {
        let session = session(bodyBytes: 10)
        let response = HTTPResponse(status: 500, body: Data(count: 1_000_000))
        let kept = Kept(APIError(.http, response: APIResponse(response, url: .shop("/")), underlying: Witness()))
        session.respond(HTTPRequest(.get, .shop("/")), response)
        session.send(.ended(.failure(try #require(kept.error))))
        kept.error = nil
        #expect(kept.witness == nil)
        #expect(try session.recorder.entries().first?._error?.contains("http") == true)
    }

    /// An error that another error has.
    private final class Witness: Error {}

    /// An error, and whether it exists.
    private final class Kept {
        var error: APIError?
        weak var witness: Witness?

        init(_ error: APIError) {
            self.error = error
            witness = error.underlying as? Witness
        }
    }

    @Test("A body with a file whose other bytes are cut is marked")
    func cutBesideFile() throws {
        let session = session(bodyBytes: 10)
        let file = HTTPBody.Piece.file(URL(filePath: "/tmp/picture"))
        let (long, short) = (Data(repeating: 0x41, count: 20), Data("short".utf8))
        session.respond(
            HTTPRequest(.post, .shop("/"), body: HTTPBody([.data(long), file])),
            HTTPResponse(status: 200)
        )
        let request = HTTPRequest(.post, .shop("/"), body: HTTPBody([.data(short), file]))
        session.respond(request, HTTPResponse(status: 200), load: 2)
        #expect(try session.recorder.entries().map(\._truncated) == [true, nil])
    }

    @Test("A long body is cut at a whole character, marked, and counted as a whole")
    func cut() throws {
        let session = session(bodyBytes: 101)
        let text = Data(String(repeating: "ä", count: 100).utf8)
        let request = HTTPRequest(.post, .shop("/"), body: .data(text))
        session.respond(request, HTTPResponse(status: 200, headers: ["Content-Type": "text/plain"], body: text))
        session.respond(HTTPRequest(.get, .shop("/")), HTTPResponse(status: 200, body: Data(count: 101)), load: 2)
        let entries = try session.recorder.entries()
        #expect(entries.map(\._truncated) == [true, nil])
        let content = entries[0].response.content
        #expect(content.text == String(repeating: "ä", count: 50))
        #expect((content.size, content.comment) == (200, "Only the first 101 of 200 bytes were recorded."))
        #expect(entries[0].request.bodySize == 200)
        #expect(entries[0].request.postData?.comment == "Only the first 101 of 200 bytes were recorded.")
    }

    @Test("Loads that were not sent count like exchanges, with their paths as bytes")
    func unsent() throws {
        let (few, small) = (session(exchanges: 2), session(bytes: 250))
        for session in [few, small] {
            for load in 1...4 as ClosedRange<UInt64> {
                session.send(.began, load: load)
                let path = String(repeating: "/a", count: 50)
                session.send(.ended(.cancelled), load: load, path: path, at: Int(load))
            }
            #expect(session.recorder.count == 2)
            #expect(try session.recorder.entries().map(\._load) == [3, 4])
            let report = String(decoding: session.recorder.report(), as: UTF8.self)
            #expect(report.contains("2 older exchanges were removed"))
        }
    }

    @Test("An exchange in flight that was removed is not recorded again")
    func inFlight() throws {
        let session = session(exchanges: 2)
        session.send(.began)
        let number = session.begin(HTTPRequest(.get, .shop("/slow")), load: 1)
        for load in [2, 3] as [UInt64] {
            session.respond(HTTPRequest(.get, .shop("/")), HTTPResponse(status: 200), load: load, at: Int(load))
        }
        let response = APIResponse(HTTPResponse(status: 200), url: .shop("/slow"))
        session.send(.responded(response), load: 1, exchange: number, at: 9)
        session.send(.ended(.failure(APIError(.decoding))), load: 1, at: 9)
        #expect(try session.recorder.entries().map(\._load) == [2, 3])
    }
}
