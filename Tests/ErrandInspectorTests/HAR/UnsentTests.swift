import ErrandInspector
import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand

@MainActor @Suite("Loads that were never sent are in archives and reports", .hangLimit, .timeLimit(.minutes(5)))
struct UnsentTests {
    private let session = Session()
    private let clock = ManualClock()
    private let delegate = RequestRecorder()

    /// A proxy with the recorder, whose transport never responds.
    private func proxy(_ service: APIService? = APIService(baseURL: .shop("/v1"))) -> APIProxy {
        let transport = ScriptedTransport { [clock] _ in
            try await clock.sleep(for: .seconds(3_600))
            return HTTPResponse(status: 200)
        }
        let limits = QueueLimits(perHost: 1)
        return APIProxy(
            service: service,
            transport: transport,
            queueLimits: limits,
            clock: clock,
            monitors: [session.recorder]
        )
    }

    private func request(_ proxy: APIProxy, _ options: APIRequestOptions = APIRequestOptions()) -> APIRequest<String> {
        APIRequest("/orders/{id}", params: ["id": 7], options: options, delegate: delegate, proxy: proxy)
    }

    /// Expects one unsent load in the archive and in the report, and returns its entry.
    @discardableResult
    private func expectUnsent(_ error: String, _ url: String = "redacted:/orders/%7Bid%7D") throws -> Archive.Entry {
        let unsent = try session.recorder.entries().filter { $0._state == "unsent" }
        let entry = try #require(unsent.first)
        #expect(unsent.count == 1)
        #expect(entry._error == error)
        #expect((entry.request.method, entry.request.url) == ("GET", url))
        #expect(entry.request.comment?.contains("Nothing was sent") == true)
        #expect((entry.response.status, entry.response.content.size) == (0, 0))
        #expect(entry.time == entry.timings["blocked"])
        let report = String(decoding: session.recorder.report(), as: UTF8.self)
        #expect(report.contains("<b>Error</b> \(error.replacing("'", with: "&#39;"))</p>"))
        #expect(report.matches(of: />not sent</).count == 1)
        return entry
    }

    // MARK: Real loads

    private final class Refusal: APIManagerValidator {
        func request(_ request: BaseAPIRequest, accepts params: APIParams?) -> Bool { false }
    }

    @Test func `One that the validator of its parameters refuses`() async throws {
        let (request, refusal) = (request(proxy()), Refusal())
        request.validator = refusal
        request.loadData()
        #expect(await delegate.ending() == .failure(.invalidRequest))
        try expectUnsent("invalidRequest, GET /orders/{id}, the validator refused the parameters")
    }

    @Test func `A plain call whose URL is refused`() async throws {
        let url = try #require(URL(string: "ftp://me:s3cret@shop.example/a?token=s3cret"))
        let error = await #expect(throws: APIError.self) { try await proxy().send(HTTPRequest(.get, url)) }
        try expectUnsent("\(try #require(error))", "ftp://shop.example/a")
        for data in [session.recorder.data(), session.recorder.report()] {
            #expect(!String(decoding: data, as: UTF8.self).contains("s3cret"))
        }
    }

    @Test func `One that has been sent, and whose deadline passes, is no cancelled one`() async throws {
        let request = request(proxy(), APIRequestOptions(deadline: .seconds(2)))
        request.loadData()
        // Of the deadline and of the server.
        await clock.waitForSleepers(2)
        clock.advance(by: .seconds(2))
        #expect(await delegate.ending() == .failure(.timeout))
        let error = try #require(request.error)
        #expect(try session.recorder.entries().map(\._error) == ["\(error)"])
        let report = String(decoding: session.recorder.report(), as: UTF8.self)
        #expect(report.contains("<b>Error</b> \("\(error)".replacing("'", with: "&#39;"))</p>"))
    }

    @Test func `One without a service`() async throws {
        let request = request(proxy(nil))
        request.loadData()
        #expect(await delegate.ending() == .failure(.invalidRequest))
        try expectUnsent("\(try #require(request.error))")
    }

    @Test func `One that is cancelled in the queue`() async throws {
        let proxy = proxy()
        let (first, second) = (request(proxy), request(proxy))
        first.loadData()
        await clock.waitForSleepers()
        second.loadData()
        second.cancelAllRequests()
        #expect(await delegate.ending() == .cancelled)
        let entry = try expectUnsent("cancelled before it was sent")
        #expect(entry._attempt == 0)
        first.cancelAllRequests()
        #expect(await delegate.ending() == .cancelled)
        #expect(try session.recorder.entries().map(\._state) == ["cancelled", "unsent"])
    }

    @Test func `One whose deadline passes before it is sent`() async throws {
        var service = APIService(baseURL: .shop("/v1"))
        service.adapters.request = [Adapter { [clock] _, _ in try await clock.sleep(for: .seconds(3_600)) }]
        var options = APIRequestOptions()
        options.deadline = .seconds(10)
        let request = request(proxy(service), options)
        request.loadData()
        await clock.waitForSleepers(2)
        clock.advance(by: .seconds(10))
        #expect(await delegate.ending() == .failure(.timeout))
        let entry = try expectUnsent("timeout, GET /orders/{id}, the deadline of the load passed")
        #expect(entry._attempt == 1)
        withExtendedLifetime(request) {}
    }

    // MARK: Events

    private let failure = APIEvent.Kind.ended(.failure(APIError(.timeout, reason: "late")))

    @Test func `One that returns to the queue after a login has its cause and all of its time`() throws {
        for kind in [APIEvent.Kind.began, .queued, .started, .waiting(.login, limit: nil), .renewed(.login), .queued] {
            session.send(kind, at: 5)
        }
        session.send(failure, path: "/orders/{id}", at: 40, queue: 3)
        let entry = try expectUnsent("timeout, late")
        #expect((entry._cause, entry.time) == ("login", 40))
    }

    @Test func `The timings of the error, which are those of a login, are not its own`() throws {
        var cause = TransportError(.connectionLost, "reset")
        cause.timings = .sample()
        session.send(.began)
        let error = APIError(.loginExpired, reason: "no login", underlying: cause)
        session.send(.ended(.failure(error)), path: "/orders/{id}", at: 9)
        let entry = try expectUnsent("\(error)")
        #expect((entry.connection, entry.serverIPAddress, entry.time) == (nil, nil, 9))
    }

    @Test func `One that joins an exchange in the queue is unsent, and one that joins a sent one is not`() throws {
        for load in [1, 2, 3] as [UInt64] { session.send(.began, load: load) }
        session.send(.joined, load: 1)
        session.send(.ended(.cancelled), load: 1, path: "/orders/{id}")
        let number = session.begin(HTTPRequest(.get, .shop("/orders/7")), load: 2)
        session.send(.joined, load: 3, exchange: number)
        for load in [2, 3] as [UInt64] { session.send(.ended(.cancelled), load: load) }
        try expectUnsent("cancelled before it was sent")
        #expect(try session.recorder.entries().map(\._load) == [1, 2])
    }

    @Test func `A load that has had an exchange, or has succeeded, is not added`() throws {
        let request = HTTPRequest(.get, .shop("/"))
        for load in 1...6 as ClosedRange<UInt64> { session.send(.began, load: load) }
        // A retry that is cancelled before it is sent.
        session.respond(request, HTTPResponse(status: 503), load: 1)
        session.send(.waiting(.retry, limit: nil), load: 1)
        // A redirect whose target is refused.
        let redirect = session.begin(request, load: 2)
        session.send(.redirected(HTTPResponse(status: 302)), load: 2, exchange: redirect)
        // A relogin that fails.
        session.respond(request, HTTPResponse(status: 401), load: 3)
        session.send(.waiting(.login, limit: nil), load: 3)
        // An exchange of a proxy's load that the recorder of a service does not observe.
        session.send(.joined, load: 4, exchange: 99)
        let stored = APIResponse(HTTPResponse(status: 200), url: .shop("/"))
        session.send(.respondedFromCache(stored), load: 5)
        session.send(.ended(.success), load: 6)
        // Twice, as for a recorder that is a monitor of the proxy and of the service.
        for _ in 1...2 { for load in 1...5 as ClosedRange<UInt64> { session.send(failure, load: load) } }
        #expect(try session.recorder.entries().map(\._load).sorted() == [1, 2, 3, 5])
        #expect(try session.recorder.entries().allSatisfy { $0._state != "unsent" })
    }

    @Test func `After clear, one whose exchange was removed is not added, and one in the queue is`() throws {
        for load in [1, 2] as [UInt64] { session.send(.began, load: load) }
        session.begin(HTTPRequest(.get, .shop("/")), load: 1)
        session.recorder.removeAll()
        session.send(failure, load: 1)
        session.send(failure, load: 2, path: "/orders/{id}")
        try expectUnsent("timeout, late")
        #expect(session.recorder.count == 1)
    }
}
