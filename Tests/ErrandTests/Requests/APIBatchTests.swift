import ErrandTesting
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("A batch of requests ends once", .hangLimit, .timeLimit(.minutes(10)))
struct APIBatchTests {
    let server = GroupServer()
    let screen = GroupScreen()

    @Test func `Responses are typed and in the order of the requests`() async throws {
        let (goods, json, more) = try await APIBatch.values(
            of: server.goods("/goods/1"),
            JSONRequest(proxy: server.proxy),
            server.goods("/goods/3")
        )
        #expect(goods.map(\.id) == [1])
        #expect(json[0]?["name"]?.string == "壶")
        #expect(more.map(\.id) == [3])
        let many = try await APIBatch.values(of: (1...50).map { server.goods("/goods/\($0)") })
        #expect(many.map { $0[0].id } == Array(1...50))
        #expect(try await APIBatch.values(of: [GoodsRequest]()).isEmpty)
    }

    @Test func `A request of a batch may be cancelled while it begins`() async {
        let (batch, request, interceptor) = (APIBatch(delegate: screen), server.goods("/goods/1"), InterceptorSpy())
        request.interceptor = interceptor
        let outcome = batch.add(request)
        interceptor.onCall = { _, call in
            if call == .shouldLoad { outcome.cancel() }
        }
        try? await batch.run()
        #expect(outcome.result?.error?.type == .cancelled)
        withExtendedLifetime(interceptor) {}
    }

    @Test func `Requests of any classes are loaded together, and their responses are in their order`() async throws {
        let (goods, json) = (server.goods("/goods/1"), JSONRequest(proxy: server.proxy))
        let requests: [any APIManager] = [goods, json, server.goods("/goods/3")]
        let batch = APIBatch()
        let outcomes = batch.add(requests)
        try await batch.run()
        let values = try outcomes.map { try $0.value }
        #expect((values[0] as? [Goods])?.map(\.id) == [1])
        #expect(values[1] as? JSONValue == json.response && values.count == 3)
        #expect(goods.response?.map(\.id) == [1])
        let failing = APIBatch()
        let ended = failing.add([server.goods("/fail"), NothingRequest(proxy: server.proxy)])
        await #expect { try await failing.run() } throws: { ($0 as? APIError)?.type == .http }
        #expect(ended.map { $0.result?.error?.type } == [.http, nil])
        let empty = APIBatch()
        #expect(empty.add([any APIManager]()).isEmpty)
        try await empty.run()
    }

    @Test func `Requests of any classes end with the group of the delegate, and can be cancelled alone`() async throws {
        let batch = APIBatch(delegate: screen)
        let outcomes = batch.add([server.goods("/goods/1"), server.text("/hang/2"), server.goods("/fail/3")])
        outcomes[1].cancel()
        batch.start()
        try? await batch.run()
        #expect(outcomes.map { $0.result?.error?.type } == [nil, .cancelled, .http])
        #expect(try outcomes[0].value as? [Goods] == [Goods(id: 1, name: "壶")])
        #expect(screen.events == [.progress(1, 3), .progress(2, 3), .progress(3, 3), .failure(.http)])
        #expect(batch.finishedCount == 3 && batch.count == 3)
    }

    @Test func `Waiting for all keeps the other responses after a failure`() async throws {
        let batch = APIBatch()
        let (one, two) = (batch.add(server.goods("/goods/1")), batch.add(server.text("/fail/2")))
        let three = batch.add(server.goods("/goods/3"))
        await #expect { try await batch.run() } throws: { ($0 as? APIError)?.type == .http }
        #expect(try one.value.map(\.id) == [1])
        #expect(two.result?.error?.type == .http)
        #expect(try three.value.map(\.id) == [3])
    }

    @Test func `Failing fast cancels the others and keeps the responses received before`() async throws {
        let batch = APIBatch(.failFast, delegate: screen)
        let first = batch.add(server.goods("/goods/1"))
        let hanging = batch.add(server.goods("/hang/2"))
        let last = batch.add(server.goods("/later/fail/3"))
        screen.onEvent = { [server] _, event in
            if event == .progress(1, 3) { server.later.open() }
        }
        await #expect { try await batch.run() } throws: { ($0 as? APIError)?.type == .http }
        #expect(try first.value.map(\.id) == [1])
        #expect(hanging.result?.error?.type == .cancelled)
        #expect(last.result?.error?.type == .http)
        #expect(screen.events.last == .failure(.http))
        #expect(screen.events.count { $0 == .failure(.http) } == 1)
        #expect(server.proxy.activeRequests.isEmpty)
    }

    @Test func `The delegate receives progress and then one ending`() async throws {
        let batch = APIBatch(delegate: screen)
        let outcomes = (1...3).map { batch.add(server.goods("/goods/\($0)")) }
        batch.start()
        batch.start()
        #expect(batch.isRunning)
        #expect(screen.events.isEmpty)
        try await batch.run()
        #expect(screen.events == [.progress(1, 3), .progress(2, 3), .progress(3, 3), .success])
        #expect(try outcomes.map { try $0.value[0].id } == [1, 2, 3])
        batch.start()
        batch.cancel()
        try await batch.run()
        #expect(screen.events.count == 4)
        #expect(server.paths.count == 3)
    }

    @Test func `Cancelling the batch cancels the requests that have not ended, and is its only ending`() async {
        let batch = APIBatch(delegate: screen)
        let done = batch.add(server.goods("/goods/1"))
        let hanging = (0..<20).map { batch.add(server.goods("/hang/\($0)")) }
        screen.onEvent = { group, event in
            if event == .progress(1, 21) { group.cancel() }
        }
        await #expect { try await batch.run() } throws: { ($0 as? APIError)?.type == .cancelled }
        #expect(done.result?.error == nil)
        #expect(hanging.allSatisfy { $0.result?.error?.type == .cancelled })
        #expect(screen.events == [.progress(1, 21), .cancelled])
        #expect(server.proxy.activeRequests.isEmpty)
    }

    @Test func `Cancelling one request does not cancel the others`() async throws {
        let batch = APIBatch(.failFast, delegate: screen)
        let early = batch.add(server.goods("/hang/1"))
        let late = batch.add(server.goods("/hang/2"))
        let other = batch.add(server.goods("/goods/3"))
        early.cancel()
        screen.onEvent = { _, event in
            if event == .progress(2, 3) { late.cancel() }
        }
        try await batch.run()
        #expect(early.result?.error?.type == .cancelled)
        #expect(late.result?.error?.type == .cancelled)
        #expect(try other.value[0].id == 3)
        #expect(screen.events.last == .success)
        #expect(!server.paths.contains("/hang/1"), "what is cancelled before its turn is never sent")
    }

    @Test func `A batch all of whose requests were cancelled elsewhere is cancelled`() async {
        let batch = APIBatch(delegate: screen)
        batch.add(server.goods("/hang/1"))
        batch.add(server.goods("/hang/2"))
        batch.start()
        await server.transport.waitForRequests(2)
        server.proxy.logout()
        await #expect { try await batch.run() } throws: { ($0 as? APIError)?.type == .cancelled }
        #expect(screen.events.last == .cancelled)
        let single = APIBatch()
        single.add(server.goods("/hang/3")).cancel()
        try? await single.run()
        #expect(single.result?.error?.type == .cancelled)
    }

    @Test func `Cancelling the task that waits cancels the batch`() async {
        let (begun, news) = AsyncStream.makeStream(of: Void.self)
        let request = server.goods("/hang/1")
        let spy = InterceptorSpy()
        spy.onCall = { _, _ in news.yield() }
        request.interceptor = spy
        let task = Task { try await APIBatch.values(of: request, server.goods("/hang/2")) }
        for await _ in begun { break }
        task.cancel()
        await #expect { try await task.value } throws: { ($0 as? APIError)?.type == .cancelled }
        #expect(server.proxy.activeRequests.isEmpty)
    }

    @Test func `A batch that has ended retains nothing`() async throws {
        let batch = APIBatch(delegate: GroupScreen())
        weak var request: GoodsRequest?
        var outcome: APIOutcome<[Goods]>?
        do {
            let goods = server.goods("/goods/1")
            request = goods
            outcome = batch.add(goods)
        }
        #expect(request != nil)
        #expect(batch.delegate == nil)
        try await batch.run()
        #expect(request == nil)
        #expect(try outcome?.value.count == 1)
        weak var gone: APIBatch?
        do {
            let forgotten = APIBatch()
            forgotten.add(server.goods("/goods/2"))
            gone = forgotten
            try await forgotten.run()
        }
        #expect(gone == nil)
    }
}
