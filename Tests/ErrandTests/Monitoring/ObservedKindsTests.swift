import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor
@Suite("Monitors that observe some kinds of events", .hangLimit, .timeLimit(.minutes(10)))
struct ObservedKindsTests {
    private final class KindRecorder: APIMonitor {
        let observedKinds: APIEvent.Kinds
        private let recorded = Mutex<[APIEvent]>([])

        init(_ kinds: APIEvent.Kinds) {
            observedKinds = kinds
        }

        var events: [APIEvent] { recorded.withLock { $0 } }
        var steps: [String] { events.map(\.kind.step) }

        func observe(_ event: APIEvent) { recorded.withLock { $0.append(event) } }
    }

    private static let url = URL("http://shop.test/goods")

    /// Whether the request that was sent had an observer.
    private func sendsObserver(to monitors: [any APIMonitor]) async throws -> Bool {
        let transport = ScriptedTransport { request in
            HTTPResponse(status: 200, body: Data("\(request.observer != nil)".utf8))
        }
        let proxy = APIProxy(service: .sample(), transport: transport, monitors: monitors)
        return try await proxy.send(HTTPRequest(.get, Self.url)).text == "true"
    }

    @Test func `Each monitor receives the kinds that it observes, and no others`() async throws {
        let (all, endings) = (EventRecorder(), KindRecorder([.ended]))
        let (requests, none) = (KindRecorder([.requestMade, .tryingAgain]), KindRecorder([]))
        let answers = Mutex(0)
        let transport = ScriptedTransport { _ in
            let count = answers.withLock { count in
                count += 1
                return count
            }
            return HTTPResponse(status: count == 1 ? 503 : 200, body: Data("{}".utf8))
        }
        let clock = ManualClock()
        let service = APIService.sample {
            $0.retryPolicy = RetryPolicy()
            $0.monitors = [requests]
        }
        let proxy = APIProxy(service: service, transport: transport, clock: clock, monitors: [all, endings, none])
        async let response = proxy.send(HTTPRequest(.get, URL("/goods")), to: service)
        await clock.waitForSleepers()
        clock.advance(by: .seconds(1_000))
        #expect(try await response.status == 200)
        try await until { all.ended == 1 && endings.events.count == 1 }
        #expect(all.violations.isEmpty)
        #expect(requests.steps == ["made", "again", "made"])
        #expect(endings.steps == ["success"])
        #expect(none.events.isEmpty)
        let ending = try #require(endings.events.first)
        #expect(ending.attempt == 2 && ending.response?.status == 200)
        #expect(ending.elapsed > .zero && ending.elapsed == all.events.last?.elapsed)
    }

    @Test func `A load without monitors, or whose monitors observe nothing, has no trace`() {
        var service = APIService.sample()
        let (none, some) = (MonitorList([]), MonitorList([KindRecorder([.ended])]))
        func hasTrace(_ list: MonitorList) -> Bool {
            list.trace(of: .next(), method: .get, path: "/", for: service) != nil
        }
        #expect(!hasTrace(none) && !hasTrace(MonitorList([KindRecorder([])])))
        #expect(hasTrace(some))
        service.monitors = [KindRecorder([.began])]
        #expect(hasTrace(none))
    }

    @Test func `A transport reports only to monitors that observe it`() async throws {
        #expect(try await !sendsObserver(to: []))
        #expect(try await !sendsObserver(to: [KindRecorder([.began, .requestMade, .answered, .ended])]))
        #expect(try await sendsObserver(to: [KindRecorder([.ended]), KindRecorder([.sent])]))
        #expect(try await sendsObserver(to: [KindRecorder([.headReceived])]))
    }

    @Test func `Events of a load that began without its first event are in order`() async throws {
        let recorder = KindRecorder([.started, .answered, .ended])
        let transport = ScriptedTransport { _ in HTTPResponse(status: 204) }
        let proxy = APIProxy(service: .sample(), transport: transport, monitors: [recorder])
        _ = try await proxy.send(HTTPRequest(.get, Self.url))
        try await until { recorder.events.count == 3 }
        #expect(recorder.steps == ["started", "answered 204", "success"])
        #expect(proxy.monitors.count == 1 && proxy.monitors.first as? KindRecorder === recorder)
    }

    @Test func `Each kind has one name in a selection`() {
        let response = APIResponse(HTTPResponse(status: 200), url: Self.url)
        let kinds: [APIEvent.Kind] = [
            .began, .queued, .started, .joined, .requestMade(HTTPRequest(.get, Self.url)), .sent,
            .headReceived(status: 200, headers: [:]), .redirected(HTTPResponse(status: 302)), .answered(response),
            .answeredFromCache(response), .failed(APIError(.timeout)), .renewed(.key), .waiting(.retry, limit: nil),
            .tryingAgain, .ended(.success), .released,
        ]
        #expect(kinds.allSatisfy { $0.kinds.rawValue.nonzeroBitCount == 1 })
        #expect(Set(kinds.map(\.kinds)).count == kinds.count)
        #expect(kinds.allSatisfy { APIEvent.Kinds.all.contains($0.kinds) })
    }
}
