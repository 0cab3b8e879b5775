import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("A call may supply the parameters of its load", .hangLimit, .timeLimit(.minutes(10)))
struct CallParamsTests {
    let screen = Screen(params: ["category": 7])
    let transport = ScriptedTransport { _ in .json(goodsJSON([Goods(id: 1, name: "pen")])) }

    private func request(_ proxy: APIProxy? = nil) -> GoodsRequest {
        GoodsRequest(delegate: screen, paramSource: screen, proxy: proxy ?? APIProxy(fake: transport))
    }

    private func bodies(_ transport: ScriptedTransport) -> [HTTPBody] { transport.requests.map(\.body) }

    @Test func `The parameters of a call are sent, and the param source is not asked`() async {
        screen.onParams = { _ in Issue.record("asked") }
        screen.parts = { _ in Issue.record("asked for parts") }
        let request = request()
        request.loadData(params: ["text": "pen"])
        #expect(await screen.ending() == .success)
        #expect(bodies(transport) == [.data(Data(#"{"text":"pen"}"#.utf8))])
        #expect(request.response?.count == 1)
    }

    @Test func `Every hook is asked with the parameters of a call`() async {
        let (interceptor, validator) = (InterceptorSpy(), ValidatorSpy())
        var validated = 0
        validator.acceptsParams = { _ in
            validated += 1
            return true
        }
        let request = request()
        (request.interceptor, request.validator) = (interceptor, validator)
        request.reform = { $0?.merging(["page": 1]) }
        let indicator = IndicatorSpy()
        request.loadData(params: ["text": "pen"], indicator: indicator, message: "Searching")
        #expect(await screen.ending() == .success)
        #expect(bodies(transport) == [.data(Data(#"{"page":1,"text":"pen"}"#.utf8))])
        #expect(interceptor.calls == [.shouldLoad, .didReceive(200), .willEnd("success"), .didEnd("success")])
        #expect(validated == 1)
        #expect(indicator.shown == ["Searching"] && indicator.isBalanced)
    }

    @Test func `No parameters of a call are no body`() async {
        request().loadDataAndKeep(params: nil)
        #expect(await screen.ending() == .success)
        #expect(bodies(transport) == [.empty])
    }

    @Test func `An async call with parameters returns the response, and the delegate is not notified`() async throws {
        let request = request()
        #expect(try await request.value(params: ["text": "pen"]).count == 1)
        await sentinel(request.proxy)
        #expect(bodies(transport) == [.data(Data(#"{"text":"pen"}"#.utf8))])
        #expect(screen.events.isEmpty)
    }

    @Test func `The same parameters are sent after a relogin and by a retry`() async {
        let (account, clock) = (Account(), ManualClock())
        let responses = Responses([.status(401), .status(503), .json(goodsJSON([]))])
        let transport = ScriptedTransport { _ in responses.next() }
        let service = APIService.sample {
            $0.reloginHandler = account
            $0.retryPolicy = RetryPolicy()
        }
        let request = request(APIProxy(service: service, transport: transport, clock: clock))
        request.method = .put
        screen.onParams = { _ in Issue.record("asked") }
        request.loadData(params: ["text": "pen"])
        // The timeout of the relogin sleeps on the same clock.
        let skipping = Task { [transport] in
            await suspend(while: !Task.isCancelled) {
                if transport.requests.count == 2 { clock.advance(by: .seconds(1)) }
            }
        }
        defer { skipping.cancel() }
        #expect(await screen.ending() == .success)
        #expect(bodies(transport) == Array(repeating: .data(Data(#"{"text":"pen"}"#.utf8)), count: 3))
        #expect(account.logins == 1)
    }

    @Test func `Under ignoreNew the parameters of a call that joins a load are ignored`() async {
        let request = request()
        request.customRestartPolicy = .ignoreNew
        let first = request.loadData(params: ["text": "pen"])
        #expect(request.loadData(params: ["text": "ink"]) == first)
        #expect(await screen.ending() == .success)
        #expect(bodies(transport) == [.data(Data(#"{"text":"pen"}"#.utf8))])
    }
}

extension GoodsRequest {
    fileprivate func loadDataAndKeep(params: RequestParams) {
        ownOptions.releasePolicy = .cancel
        let kept = self
        Task { @MainActor in
            kept.loadData(params: params)
            await suspend(while: kept.isLoading)
        }
    }
}
