import ErrandTesting
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("A group presents one error", .hangLimit, .timeLimit(.minutes(10)))
struct GroupErrorTests {
    let server = GroupServer()
    let screen = GroupScreen()
    let presenter = PresenterSpy()

    init() { server.proxy.errorPresenter = presenter }

    private func end(_ group: APIGroup) async {
        group.start()
        try? await group.run()
    }

    @Test func `A batch presents the first failure before its delegate, however many requests fail`() async {
        let batch = APIBatch(delegate: screen)
        let first = server.goods("/fail/1")
        batch.add(first)
        batch.add(server.goods("/later/fail/2"))
        batch.add(server.goods("/goods/3"))
        screen.onEvent = { [server, presenter] _, event in
            if event == .progress(2, 3) { server.later.open() }
            if event == .failure(.http) { #expect(presenter.types == [.http]) }
        }
        await end(batch)
        #expect(screen.events.last == .failure(.http))
        #expect(presenter.types == [.http])
        #expect(presenter.calls.first?.request == first)
    }

    @Test func `A batch presents the failure of a request that presents errors, also if another one is first`() async {
        let batch = APIBatch(delegate: screen)
        let (silent, loud) = (server.goods("/fail/1"), server.goods("/later/fail/2"))
        silent.ownOptions.presentsErrors = false
        batch.add(silent)
        batch.add(loud)
        screen.onEvent = { [server] _, event in
            if event == .progress(1, 2) { server.later.open() }
        }
        await end(batch)
        #expect(presenter.calls.map(\.request) == [loud])
        let quiet = APIBatch()
        quiet.add(silent)
        await end(quiet)
        #expect(quiet.result?.error?.type == .http)
        #expect(presenter.calls.count == 1)
    }

    @Test func `A group that only an async call has begun, succeeds or is cancelled presents nothing`() async {
        let batch = APIBatch()
        batch.add(server.goods("/fail/1"))
        try? await batch.run()
        #expect(batch.result?.error?.type == .http)
        _ = try? await APIBatch.values(of: [server.goods("/fail/2")])
        let success = APIBatch()
        success.add(server.goods("/goods/1"))
        await end(success)
        let cancelled = APIBatch(delegate: screen)
        cancelled.add(server.goods("/fail/3"))
        cancelled.add(server.goods("/hang/4"))
        screen.onEvent = { group, event in
            if event == .progress(1, 2) { group.cancel() }
        }
        await end(cancelled)
        #expect(screen.events.last == .cancelled)
        #expect(presenter.calls.isEmpty)
    }

    @Test func `A chain presents the failure that ends it, and no failure from which it recovers`() async {
        let chain = APIChain(delegate: screen)
        let last = server.goods("/fail/2")
        chain.add {
            server.goods("/fail/1")
        } recover: { _ in
            []
        }
        chain.add(last)
        await end(chain)
        #expect(presenter.calls.map(\.request) == [last])
        let recovered = APIChain()
        recovered.add {
            server.goods("/fail/3")
        } recover: { _ in
            try await server.goods("/goods/4").value()
        }
        await end(recovered)
        #expect(recovered.result?.error == nil)
        #expect(presenter.calls.count == 1)
    }

    @Test func `A chain whose recovery fails presents the error of the recovery, once`() async {
        let chain = APIChain(delegate: screen)
        let request = server.goods("/fail/1")
        chain.add {
            request
        } recover: { _ in
            _ = try? await server.goods("/fail/2").value()
            throw APIError(.invalidResponse, message: "no")
        }
        await end(chain)
        #expect(presenter.types == [.invalidResponse])
        #expect(presenter.calls.first?.request == request)
        #expect(presenter.calls.first?.error.message == "no")
    }

    @Test func `A chain without a request to create presents nothing`() async {
        struct Odd: Error {}
        let chain = APIChain(delegate: screen)
        chain.add { () throws -> GoodsRequest in throw Odd() }
        await end(chain)
        #expect(screen.events.last == .failure(.invalidRequest))
        #expect(presenter.calls.isEmpty)
    }

    @Test(arguments: [false, true])
    func `A request that a batch shares with one that presents nothing is presented`(_ isCancelled: Bool) async {
        let request = server.goods("/later/fail/1")
        request.customRestartPolicy = .ignoreNew
        let (silent, batch) = (APIBatch(), APIBatch())
        silent.add(request)
        let run = Task { try? await silent.run() }
        await suspend(while: request.waiters.isEmpty)
        if isCancelled {
            // It would have presented the error.
            silent.start()
            silent.cancel()
        }
        batch.add(request)
        batch.start()
        await suspend(while: request.waiters.count < (isCancelled ? 1 : 2))
        server.later.open()
        try? await batch.run()
        await run.value
        #expect(presenter.types == [.http])
    }

    @Test func `A request that a batch shares with a delegate is presented once`() async {
        let (request, delegate) = (server.goods("/later/fail/1"), Screen())
        request.customRestartPolicy = .ignoreNew
        request.delegate = delegate
        request.loadData()
        let batch = APIBatch()
        batch.add(request)
        batch.start()
        await suspend(while: request.waiters.isEmpty)
        server.later.open()
        try? await batch.run()
        #expect(batch.result?.error?.type == .http)
        #expect(presenter.types == [.http] && delegate.events == [.failure(.http)])
    }

    @Test func `A batch presents the failure of a load that it shares with an async call`() async {
        let request = server.goods("/later/fail/1")
        request.customRestartPolicy = .ignoreNew
        let call = Task { await request.outcome() }
        await suspend(while: request.waiters.isEmpty)
        let batch = APIBatch()
        batch.add(request)
        batch.start()
        await suspend(while: request.waiters.count < 2)
        server.later.open()
        try? await batch.run()
        #expect(await call.value == .http && batch.result?.error?.type == .http)
        #expect(presenter.calls.map(\.request) == [request])
    }
}
