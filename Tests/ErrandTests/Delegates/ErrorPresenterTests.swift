import ErrandTesting
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport
@testable import ErrandUI

@MainActor @Suite("An error presenter shows each failed load once", .hangLimit, .timeLimit(.minutes(10)))
struct ErrorPresenterTests {
    let screen = Screen()
    let presenter = PresenterSpy()
    private let failing = ScriptedTransport { _ in .json(#"{"errcode":5001,"msg":"sold out"}"#) }

    private func request(_ transport: ScriptedTransport? = nil) -> GoodsRequest {
        let proxy = APIProxy(fake: transport ?? failing)
        proxy.errorPresenter = presenter
        return GoodsRequest(delegate: screen, proxy: proxy)
    }

    @Test func `It receives the request and the error, after the indicator and before the delegate`() async {
        let (request, indicator) = (request(), IndicatorSpy())
        presenter.onCall = { [screen] error, request in
            #expect(error.code == 5001 && error.message == "sold out")
            #expect(request.error?.code == 5001 && !request.isLoading)
            #expect(indicator.isBalanced && indicator.shown.count == 1)
            #expect(screen.events.isEmpty)
        }
        request.loadData(indicator: indicator)
        #expect(await screen.ending() == .failure(.server))
        #expect(presenter.types == [.server])
        #expect(presenter.calls.first?.request == request)
        await sentinel(request.proxy)
        #expect(presenter.calls.count == 1)
    }

    @Test func `It is not called for a success, a cancel or a refusal of the interceptor`() async {
        let request = request(ScriptedTransport { _ in .json(goodsJSON([])) })
        request.loadData()
        #expect(await screen.ending() == .success)
        request.loadData()
        request.cancelAllRequests()
        #expect(await screen.ending() == .cancelled)
        let interceptor = InterceptorSpy()
        interceptor.allowsLoad = false
        request.interceptor = interceptor
        request.loadData()
        #expect(await screen.ending() == .cancelled)
        #expect(presenter.calls.isEmpty)
    }

    @Test func `It is called for a load that fails before it is sent`() async {
        let request = request()
        request.loadData(params: ["price": Double.nan])
        #expect(await screen.ending() == .failure(.invalidRequest))
        #expect(presenter.types == [.invalidRequest])
        #expect(failing.requests.isEmpty)
    }

    @Test func `A request may present no errors, as it was when the load began`() async {
        let request = request()
        request.ownOptions.presentsErrors = false
        request.loadData()
        request.ownOptions.presentsErrors = true
        #expect(await screen.ending() == .failure(.server))
        #expect(presenter.calls.isEmpty)
        let silent = APIRequest<String>(
            "/goods",
            service: .sample(),
            options: .init(presentsErrors: false),
            delegate: screen,
            proxy: request.proxy
        )
        silent.loadData()
        #expect(await screen.ending() == .failure(.server))
        #expect(presenter.calls.isEmpty)
        request.loadData()
        #expect(await screen.ending() == .failure(.server))
        #expect(presenter.types == [.server])
    }

    @Test func `The presenter of a request precedes that of its proxy, and none is retained`() async {
        let request = request()
        var own: PresenterSpy? = PresenterSpy()
        request.errorPresenter = own
        request.loadData()
        #expect(await screen.ending() == .failure(.server))
        #expect(own?.types == [.server] && presenter.calls.isEmpty)
        own = nil
        #expect(request.errorPresenter == nil)
        request.loadData()
        #expect(await screen.ending() == .failure(.server))
        #expect(presenter.types == [.server])
        request.proxy.errorPresenter = PresenterSpy()
        #expect(request.proxy.errorPresenter == nil)
        request.loadData()
        #expect(await screen.ending() == .failure(.server))
    }

    @Test func `A load that is retried, or sent again after a relogin, is presented once`() async {
        let (account, clock) = (Account(), ManualClock())
        let responses = Responses([.status(401), .status(503), .status(503), .status(503)])
        let transport = ScriptedTransport { _ in responses.next() }
        let service = APIService.sample {
            $0.reloginHandler = account
            $0.retryPolicy = RetryPolicy()
        }
        let proxy = APIProxy(service: service, transport: transport, clock: clock)
        proxy.errorPresenter = presenter
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.method = .get
        request.loadData()
        // Until the relogin has ended, the clock would run to its deadline.
        await suspend(while: transport.requests.count < 2)
        let skipping = Task {
            while !Task.isCancelled {
                await clock.waitForSleepers()
                clock.advance(by: .seconds(10))
            }
        }
        #expect(await screen.ending() == .failure(.http))
        skipping.cancel()
        #expect(transport.requests.count == 4 && account.logins == 1)
        #expect(presenter.types == [.http])
    }

    @Test func `It is called before a closure, and not for an async call, which throws`() async {
        let request = request()
        await withCheckedContinuation { ended in
            request.loadData { [presenter] _ in
                #expect(presenter.types == [.server])
                ended.resume()
            }
        }
        await #expect(throws: APIError.self) { try await request.value() }
        #expect(presenter.calls.count == 1 && screen.events.isEmpty)
    }

    @Test(arguments: [false, true])
    func `A load that an async call and another one share is presented once`(_ isClosure: Bool) async {
        let gate = Latch()
        let request = request(
            ScriptedTransport { _ throws(TransportError) in
                try await gate.wait()
                return .json(#"{"errcode":5001,"msg":"sold out"}"#)
            }
        )
        request.customRestartPolicy = .ignoreNew
        let value = Task { await request.outcome() }
        await suspend(while: !request.isLoading)
        if isClosure { request.loadData { _ in } } else { request.loadData() }
        gate.open()
        #expect(await value.value == .server)
        await sentinel(request.proxy)
        #expect(presenter.types == [.server])
        #expect(screen.events.count == (isClosure ? 0 : 1))
        #expect(request.receivers.isEmpty)
    }

    @Test func `It may load again, cancel, and release the delegate`() async {
        let request = request()
        var screen: Screen? = Screen()
        request.delegate = screen
        presenter.onCall = { [presenter] _, request in
            screen = nil
            if presenter.calls.count == 1 { request.loadAgain() } else { request.cancelAllRequests() }
        }
        request.loadData()
        await suspend(while: presenter.calls.count < 2)
        await request.waitUntilIdle()
        #expect(presenter.types == [.server, .server] && screen == nil)
    }

    @Test func `The load of a released request is not presented`() async {
        let proxy: APIProxy
        do {
            let request = request()
            request.ownOptions.releasePolicy = .finish
            proxy = request.proxy
            request.loadData()
        }
        await suspend(while: !proxy.activeRequests.isEmpty)
        await sentinel(proxy)
        #expect(failing.requests.count == 1 && presenter.calls.isEmpty)
    }

    @Test func `Each failed page of a list is presented, except in a sequence of pages`() async {
        let server = NumberServer(count: 35)
        let list = OffsetNumbers(delegate: screen, proxy: APIProxy(fake: server.transport))
        list.errorPresenter = presenter
        server.failNextRequest()
        list.reload()
        #expect(await screen.ending() == .failure(.http))
        #expect(presenter.types == [.http])
        list.reload()
        #expect(await screen.ending() == .success)
        server.failNextRequest()
        list.loadNextPage()
        #expect(await screen.ending() == .failure(.http))
        server.failNextRequest()
        list.retry()
        #expect(await screen.ending() == .failure(.http))
        #expect(presenter.types == [.http, .http, .http])
        server.failNextRequest()
        await #expect(throws: APIError.self) { try await list.allItems() }
        #expect(presenter.calls.count == 3)
    }
}

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
