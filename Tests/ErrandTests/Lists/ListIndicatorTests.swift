import ErrandTesting
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("The loading indicator of a list", .hangLimit, .timeLimit(.minutes(10)))
struct ListIndicatorTests {
    let server = NumberServer(count: 25)
    let screen = Screen()
    let list: OffsetNumbers

    init() {
        list = OffsetNumbers(delegate: screen, proxy: APIProxy(fake: server.transport))
    }

    @Test func `A reload and each next page show it until their ending`() async {
        let indicator = IndicatorSpy()
        list.reload(indicator: indicator, message: "one")
        #expect(indicator.shown == ["one"] && indicator.hides == 0)
        #expect(await screen.ending() == .success)
        #expect(indicator.isBalanced)
        list.reload(params: ["text": "pen"], indicator: indicator, message: "two")
        #expect(await screen.ending() == .success)
        while list.loadNextPage(indicator: indicator, message: "next") != nil {
            #expect(!indicator.isBalanced)
            #expect(await screen.ending() == .success)
            #expect(indicator.isBalanced)
        }
        #expect(indicator.shown == ["one", "two", "next", "next"], "none at the end of the list")
        #expect(server.queries.dropFirst().allSatisfy { $0.hasSuffix("text=pen") })
    }

    @Test func `A page that is already loading keeps its indicator`() async {
        let (first, second) = (IndicatorSpy(), IndicatorSpy())
        let id = list.loadNextPage(indicator: first)
        #expect(list.loadNextPage(indicator: second) == id)
        #expect(await screen.ending() == .success)
        #expect(first.shown.count == 1 && first.isBalanced && second.shown.isEmpty)
    }

    @Test func `A load that is superseded, cancelled or fails hides its indicator`() async {
        let indicator = IndicatorSpy()
        list.loadNextPage(indicator: indicator)
        list.reload(indicator: indicator)
        list.reload(params: nil, indicator: indicator)
        #expect(await screen.endings(3) == [.cancelled, .cancelled, .success])
        #expect(indicator.shown.count == 3 && indicator.isBalanced)
        server.failNextRequest()
        list.loadNextPage(indicator: indicator)
        #expect(await screen.ending() == .failure(.http))
        list.loadNextPage(indicator: indicator)
        list.cancelAllRequests()
        #expect(await screen.ending() == .cancelled)
        #expect(indicator.shown.count == 5 && indicator.isBalanced)
    }
}
