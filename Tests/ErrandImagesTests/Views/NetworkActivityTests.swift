import ErrandTesting
import ErrandUI
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("The activity of the network is counted, and shown when it lasts", .timeLimit(.minutes(10)))
struct NetworkActivityTests {
    private let clock = ManualClock()
    private let latch = Latch()
    private let activity: NetworkActivity
    private let proxy: APIProxy

    init() {
        activity = NetworkActivity(clock: clock)
        let transport = ScriptedTransport { [latch] request in
            if request.url.path.hasSuffix("slow") { try await latch.wait() }
            return HTTPResponse(status: 200)
        }
        proxy = APIProxy(service: .sample(), transport: transport, monitors: [activity])
    }

    private func request(_ path: String) -> APIRequest<Void> { APIRequest(path, proxy: proxy) }

    @Test func `It becomes visible after its delay, and disappears after the other one`() async {
        let (first, second) = (request("/slow"), request("/slow"))
        first.loadData()
        second.loadData()
        await suspend(while: activity.count < 2)
        await clock.waitForSleepers()
        clock.advance(by: .milliseconds(999))
        #expect(!activity.isVisible)
        clock.advance(by: .milliseconds(1))
        await suspend(while: !activity.isVisible)
        first.cancelAllRequests()
        await suspend(while: activity.count > 1)
        #expect(clock.sleepers == 0)
        latch.open()
        await suspend(while: activity.count > 0)
        #expect(activity.isVisible)
        await clock.waitForSleepers()
        clock.advance(by: .milliseconds(170))
        await suspend(while: activity.isVisible)
        _ = (first, second)
    }

    @Test func `The delay before it disappears can be changed`() async {
        (activity.activationDelay, activity.completionDelay) = (.zero, .seconds(2))
        let slow = request("/slow")
        slow.loadData()
        await suspend(while: !activity.isVisible)
        slow.cancelAllRequests()
        await clock.waitForSleepers()
        clock.advance(by: .milliseconds(1_999))
        #expect(clock.sleepers == 1 && activity.isVisible)
        clock.advance(by: .milliseconds(1))
        await suspend(while: activity.isVisible)
    }

    @Test func `What is short is not shown`() async throws {
        _ = try await request("/fast").value()
        await suspend(while: activity.count > 0)
        #expect(!activity.isVisible)
        let slow = request("/slow")
        slow.loadData()
        await clock.waitForSleepers()
        slow.cancelAllRequests()
        await suspend(while: clock.sleepers > 0)
        clock.advance(by: .seconds(10))
        await suspend(while: activity.count > 0)
        #expect(!activity.isVisible)
    }

    @Test func `A pause between two loads hides nothing`() async {
        activity.activationDelay = .zero
        let (first, second) = (request("/slow"), request("/slow"))
        first.loadData()
        await suspend(while: activity.count < 1)
        clock.advance(by: .zero)
        await suspend(while: !activity.isVisible)
        first.cancelAllRequests()
        await clock.waitForSleepers()
        second.loadData()
        await suspend(while: clock.sleepers > 0)
        clock.advance(by: .seconds(10))
        #expect(activity.isVisible)
        second.cancelAllRequests()
    }
}
