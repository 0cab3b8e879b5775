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
        session.recorder.clear()
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
