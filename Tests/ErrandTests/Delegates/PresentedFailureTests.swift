import ErrandTesting
import Testing

@testable import Errand
@testable import ErrandUI
@testable import ErrandTestSupport

@MainActor @Suite("Alerts present the failures one after the other")
struct PresentedFailureTests {
    private let soldOut = APIError(.server, message: "sold out")
    private let offline = APIError(.noNetwork, message: "no network")

    private func request() -> GoodsRequest { GoodsRequest(proxy: APIProxy(fake: ScriptedTransport())) }

    @Test func `Failures with the same text are one, whose requests are each returned once`() {
        var failures = PresentedFailures()
        let (first, second, third) = (request(), request(), request())
        failures.add(offline, of: first)
        failures.add(soldOut, of: third)
        failures.add(offline, of: second)
        failures.add(offline, of: first)
        #expect(failures.first?.text == "no network")
        let offlineRequests = failures.removeFirst()
        #expect(offlineRequests == [first, second])
        #expect(failures.first?.text == "sold out")
        let soldOutRequests = failures.removeFirst()
        #expect(soldOutRequests == [third])
        let nothing = failures.removeFirst()
        #expect(failures.first == nil && nothing.isEmpty)
    }

    @Test func `A failure retains no request`() {
        var failures = PresentedFailures()
        weak var released: BaseAPIRequest?
        do {
            let request = request()
            released = request
            failures.add(offline, of: request)
        }
        #expect(released == nil && failures.first?.text == "no network")
        let requests = failures.removeFirst()
        #expect(requests.isEmpty)
    }

    @Test func `Removing all leaves none`() {
        var failures = PresentedFailures()
        failures.add(offline, of: request())
        failures.removeAll()
        #expect(failures.first == nil)
    }
}
