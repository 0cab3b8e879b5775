import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("Interceptor, validator, indicator and hooks", .hangLimit, .timeLimit(.minutes(10)))
struct DelegateTests {
    let screen = Screen(params: ["q": "tea"])
    let interceptor = InterceptorSpy()
    let validator = ValidatorSpy()
    let indicator = IndicatorSpy()
    let transport = ScriptedTransport { _ in .json(goodsJSON([Goods(id: 1, name: "a")])) }

    private func request() -> GoodsRequest {
        let request = GoodsRequest(delegate: screen, paramSource: screen, proxy: APIProxy(fake: transport))
        request.interceptor = interceptor
        request.validator = validator
        return request
    }

    @Test func `The interceptor receives the steps of a load in order`() async {
        let request = request()
        request.loadData()
        _ = await screen.ending()
        await suspend(while: interceptor.calls.count < 4)
        #expect(interceptor.calls == [.shouldLoad, .didReceive(200), .willEnd("success"), .didEnd("success")])
    }

    @Test func `A load that the interceptor cancels when it is about to end ends as cancelled, once`() async {
        let request = request()
        interceptor.onCall = { request, call in
            if call == .willEnd("success") { request.cancelAllRequests() }
        }
        request.loadData()
        #expect(await screen.ending() == .cancelled)
        await sentinel(request.proxy)
        let calls: [InterceptorSpy.Call] = [.willEnd("success"), .willEnd("cancelled"), .didEnd("cancelled")]
        #expect(interceptor.calls == [.shouldLoad, .didReceive(200)] + calls)
        #expect(screen.events.count == 1)
    }

    @Test(.fault(76)) func `A load that the interceptor refuses ends as cancelled, and nothing is sent`() async {
        let request = request()
        interceptor.allowsLoad = false
        request.loadData(indicator: indicator)
        #expect(await screen.ending() == .cancelled)
        #expect(transport.requests.isEmpty)
        #expect(request.proxy.activeRequests.isEmpty)
        #expect(indicator.isBalanced && indicator.shown.count == 1)
        await sentinel(request.proxy)
        #expect(interceptor.calls == [.shouldLoad, .willEnd("cancelled"), .didEnd("cancelled")])
        #expect(screen.events.count == 1)
    }

    @Test func `A load whose parameters the validator refuses fails with invalidRequest`() async {
        let request = request()
        validator.acceptsParams = { _ in false }
        request.loadData(indicator: indicator)
        #expect(await screen.ending() == .failure(.invalidRequest))
        #expect(transport.requests.isEmpty)
        #expect(indicator.isBalanced)
    }

    @Test func `A load whose response the validator refuses fails with invalidResponse`() async {
        let request = request()
        validator.acceptsContent = { _ in false }
        request.loadData()
        #expect(await screen.ending() == .failure(.invalidResponse))
        #expect(request.response == nil)
        #expect(request.rawResponse?.status == 200)
    }

    @Test func `reformParams and reformData change parameters and responses`() async {
        let request = request()
        request.reform = { $0?.merging(["page": 2]) }
        request.reformGoods = { $0 + [Goods(id: 9, name: "z")] }
        request.loadData()
        #expect(await screen.ending() == .success)
        #expect(transport.requests.first?.body == .data(Data(#"{"page":2,"q":"tea"}"#.utf8)))
        #expect(request.response?.map(\.id) == [1, 9])
    }

    @Test func `The indicator is shown and hidden in balance for every ending`() async {
        let failing = ScriptedTransport { _ throws(TransportError) in throw TransportError(.connectionLost, "reset") }
        for (fake, ending) in [(transport, Screen.Event.success), (failing, .failure(.transport))] {
            let request = GoodsRequest(delegate: screen, proxy: APIProxy(fake: fake))
            request.loadData(indicator: indicator, message: "Loading")
            #expect(await screen.ending() == ending)
            request.loadData(indicator: indicator)
            request.cancelAllRequests()
            #expect(await screen.ending() == .cancelled)
        }
        #expect(indicator.shown == ["Loading", nil, "Loading", nil])
        #expect(indicator.isBalanced)
    }

    @Test func `The delegate receives progress before the ending, if the request reports it`() async {
        let gate = Latch()
        let moving = ProgressTransport(gate)
        let request = GoodsRequest(delegate: screen, proxy: APIProxy(service: .sample(), transport: moving))
        request.ownOptions.reportsProgress = true
        request.loadData()
        await suspend(while: screen.progress.isEmpty)
        #expect(screen.progress.last?.fractionCompleted == 0.5)
        gate.open()
        #expect(await screen.ending() == .success)
        let count = screen.progress.count
        await sentinel(request.proxy)
        #expect(screen.progress.count == count)
    }

    @Test func `An async call receives progress, and the delegate does not`() async throws {
        let gate = Latch()
        let moving = ProgressTransport(gate)
        let request = GoodsRequest(delegate: screen, proxy: APIProxy(service: .sample(), transport: moving))
        var reports: [TransferProgress] = []
        let value = Task {
            try await request.value(params: ["q": "tea"]) { reports.append($0) }
        }
        await suspend(while: reports.isEmpty)
        #expect(reports.last?.fractionCompleted == 0.5)
        #expect(request.progress == reports.last)
        gate.open()
        #expect(try await value.value.isEmpty)
        let count = reports.count
        await sentinel(request.proxy)
        #expect(reports.count == count && screen.progress.isEmpty)
        request.loadData()
        #expect(request.progress == nil, "of the new load")
        #expect(await screen.ending() == .success)
        #expect(request.progress == nil && screen.progress.isEmpty)
    }

    @Test func `No progress is delivered after a receiver has cancelled the load`() async {
        let moving = ProgressTransport(Latch())
        let request = GoodsRequest(delegate: screen, proxy: APIProxy(service: .sample(), transport: moving))
        request.ownOptions.reportsProgress = true
        var count = 0
        let error = await #expect(throws: APIError.self) {
            try await request.value {
                count += 1
                #expect($0.completedBytes == 50)
                request.cancelAllRequests()
            }
        }
        #expect(error?.type == .cancelled)
        #expect(count == 1 && screen.progress.isEmpty)
    }
}

/// Reports half, waits for its gate, and reports the whole.
private struct ProgressTransport: HTTPTransport {
    let gate: Latch

    init(_ gate: Latch) { self.gate = gate }

    func send(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler?
    ) async throws(TransportError) -> HTTPResponse {
        progress?(TransferProgress(.download, completedBytes: 50, totalBytes: 100))
        try await gate.wait()
        progress?(TransferProgress(.download, completedBytes: 100, totalBytes: 100))
        return .json(goodsJSON([]))
    }
}
