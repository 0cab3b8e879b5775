import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor
@Suite("Monitors that observe some of the events", .hangLimit, .timeLimit(.minutes(10)))
struct ObservedLevelTests {
    private final class LevelRecorder: APIMonitor {
        let observedLevel: APIEvent.Level
        private let recorded = Lock<[APIEvent]>([])

        init(_ level: APIEvent.Level) {
            observedLevel = level
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

    @Test func `Each monitor receives the events of its level, and no others`() async throws {
        let (all, endings) = (EventRecorder(), LevelRecorder(.endings))
        let exchanges = LevelRecorder(.exchanges)
        let responses = Lock(0)
        let transport = ScriptedTransport { _ in
            let count = responses.withLock { count in
                count += 1
                return count
            }
            return HTTPResponse(status: count == 1 ? 503 : 200, body: Data("{}".utf8))
        }
        let clock = ManualClock()
        let service = APIService.sample {
            $0.retryPolicy = RetryPolicy()
            $0.monitors = [exchanges]
        }
        let proxy = APIProxy(service: service, transport: transport, clock: clock, monitors: [all, endings])
        async let response = proxy.send(HTTPRequest(.get, URL("/goods")), to: service)
        await clock.waitForSleepers()
        clock.advance(by: .seconds(1_000))
        #expect(try await response.status == 200)
        try await until { all.ended == 1 && exchanges.events.count == 5 }
        #expect(all.violations.isEmpty)
        #expect(exchanges.steps == ["made", "responded 503", "made", "responded 200", "success"])
        #expect(endings.steps == ["success"])
        #expect(all.events.count > exchanges.events.count)
        let ending = try #require(endings.events.first)
        #expect(ending.attempt == 2 && ending.response?.status == 200)
        #expect(ending.elapsed > .zero && ending.elapsed == all.events.last?.elapsed)
    }

    @Test func `A load without monitors has no trace`() {
        var service = APIService.sample()
        let (none, some) = (MonitorList([]), MonitorList([LevelRecorder(.endings)]))
        func hasTrace(_ list: MonitorList) -> Bool {
            list.trace(of: .next(), method: .get, path: "/", for: service) != nil
        }
        #expect(!hasTrace(none) && hasTrace(some))
        service.monitors = [LevelRecorder(.endings)]
        #expect(hasTrace(none))
    }

    @Test func `A transport reports only to monitors that observe it`() async throws {
        #expect(try await !sendsObserver(to: []))
        #expect(try await !sendsObserver(to: [LevelRecorder(.exchanges)]))
        #expect(try await sendsObserver(to: [LevelRecorder(.endings), LevelRecorder(.everything)]))
    }

    @Test func `Events of a load that began without its first event are in order`() async throws {
        let recorder = LevelRecorder(.exchanges)
        let transport = ScriptedTransport { _ in HTTPResponse(status: 204) }
        let proxy = APIProxy(service: .sample(), transport: transport, monitors: [recorder])
        _ = try await proxy.send(HTTPRequest(.get, Self.url))
        try await until { recorder.events.count == 3 }
        #expect(recorder.steps == ["made", "responded 204", "success"])
        #expect(proxy.monitors.count == 1 && proxy.monitors.first as? LevelRecorder === recorder)
    }
}
