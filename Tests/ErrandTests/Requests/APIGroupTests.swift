import ErrandTesting
import Foundation
import Testing
import TestSupport

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

    @Test func `The requests of a batch are sent in the order in which they were added`() async throws {
        for _ in 0..<20 {
            let (server, limits) = (GroupServer(), QueueLimits(perHost: 1))
            let proxy = APIProxy(service: .sample(), transport: server.transport, queueLimits: limits)
            _ = try await APIBatch.values(of: (1...30).map { server.goods("/goods/\($0)", proxy) })
            #expect(server.paths == (1...30).map { "/goods/\($0)" })
        }
    }

    @Test(arguments: ["cancel", "task", "failure"])
    func `Of a batch that is cancelled or has failed, no request that waits is sent`(_ way: String) async {
        let limits = QueueLimits(perHost: 4)
        let proxy = APIProxy(service: .sample(), transport: server.transport, queueLimits: limits)
        let batch = APIBatch(.failFast)
        for number in 0..<32 {
            batch.add(server.goods(number == 0 ? "/later/fail" : "/hang/\(number)", proxy))
        }
        let work = Task { try await batch.run() }
        await server.transport.waitForRequests(4)
        await suspend(while: proxy.queuedCount < 28)
        switch way {
        case "cancel": batch.cancel()
        case "task": work.cancel()
        default: server.later.open()
        }
        await #expect(throws: APIError.self) { try await work.value }
        #expect(proxy.queuedCount == 0 && proxy.activeRequests.isEmpty)
        // The one that fails leaves its place before the batch has its failure.
        #expect(server.transport.requests.count <= (way == "failure" ? 5 : 4))
        let next = server.goods("/goods/1", proxy)
        #expect(await next.outcome() == nil, "the queue goes on")
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

@MainActor @Suite("A chain of requests ends once", .hangLimit, .timeLimit(.minutes(10)))
struct APIChainTests {
    private struct Odd: Error {}

    let server = GroupServer()
    let screen = GroupScreen()

    @Test func `Each request is created from the responses before`() async throws {
        let chain = APIChain(delegate: screen)
        let first = chain.add(server.goods("/goods/1"))
        let second = chain.add { try server.goods("/goods/\(first.value[0].id + 1)") }
        let third = chain.add { try server.goods("/goods/\(first.value[0].id + second.value[0].id)") }
        chain.start()
        #expect(server.paths.isEmpty)
        try await chain.run()
        #expect(try third.value[0].id == 3)
        #expect(server.paths == ["/goods/1", "/goods/2", "/goods/3"])
        #expect(screen.events == [.progress(1, 3), .progress(2, 3), .progress(3, 3), .success])
    }

    @Test func `An outcome that is read before its request has ended fails the chain`() async {
        let (chain, later) = (APIChain(delegate: screen), APIOutcome<[Goods]>())
        chain.add { try server.goods("/goods/\(later.value.count)") }
        await #expect { try await chain.run() } throws: { ($0 as? APIError)?.type == .invalidRequest }
        #expect(screen.events.last == .failure(.invalidRequest) && server.paths.isEmpty)
    }

    @Test func `A chain that is cancelled when its request has failed does not recover`() async {
        let (chain, request, interceptor) = (APIChain(delegate: screen), server.goods("/fail/1"), InterceptorSpy())
        request.interceptor = interceptor
        interceptor.onCall = { _, call in
            if case .didEnd = call { chain.cancel() }
        }
        var hasRecovered = false
        chain.add {
            request
        } recover: { _ in
            hasRecovered = true
            return []
        }
        chain.start()
        try? await chain.run()
        #expect(screen.events.last == .cancelled)
        #expect(!hasRecovered)
        withExtendedLifetime(interceptor) {}
    }

    @Test func `The first failure ends the chain, and later requests are not created`() async {
        let chain = APIChain(delegate: screen)
        let first = chain.add(server.goods("/goods/1"))
        chain.add(server.goods("/fail/2"))
        var wasMade = false
        let third = chain.add {
            wasMade = true
            return server.goods("/goods/3")
        }
        await #expect { try await chain.run() } throws: { ($0 as? APIError)?.type == .http }
        #expect(first.result?.error == nil)
        #expect(third.result == nil && !wasMade)
        #expect(screen.events == [.progress(1, 3), .progress(2, 3), .failure(.http)])
    }

    @Test func `A failure may be recovered from, by another request or by a value`() async throws {
        let chain = APIChain(delegate: screen)
        let first = chain.add {
            server.goods("/fail/1")
        } recover: { error in
            #expect(error.type == .http)
            return try await server.goods("/goods/2").value()
        }
        let second = chain.add {
            server.goods("/fail/2")
        } recover: { _ in
            [Goods(id: 7, name: "杯")]
        }
        try await chain.run()
        #expect(try first.value[0].id == 2)
        #expect(try second.value[0].id == 7)
        #expect(screen.events.last == .success)
    }

    @Test func `An error of a make or recover closure is the failure`() async {
        let chain = APIChain(delegate: screen)
        let outcome = chain.add { () throws -> GoodsRequest in throw Odd() }
        await #expect { try await chain.run() } throws: { error in
            let error = error as? APIError
            return error?.type == .invalidRequest && error?.underlying is Odd
        }
        #expect(outcome.result?.error?.type == .invalidRequest)
        let other = APIChain()
        other.add {
            server.goods("/fail/1")
        } recover: { _ in
            throw APIError(.invalidResponse)
        }
        await #expect { try await other.run() } throws: { ($0 as? APIError)?.type == .invalidResponse }
    }

    @Test func `A cancelled chain ends once, as cancelled, without recovery`() async {
        let chain = APIChain(delegate: screen)
        var recovered = false
        chain.add(server.goods("/goods/1"))
        chain.add {
            server.goods("/hang/2")
        } recover: { _ in
            recovered = true
            return []
        }
        chain.add(server.goods("/goods/3"))
        screen.onEvent = { group, event in
            if event == .progress(1, 3) { group.cancel() }
        }
        await #expect { try await chain.run() } throws: { ($0 as? APIError)?.type == .cancelled }
        #expect(screen.events == [.progress(1, 3), .cancelled])
        #expect(!recovered)
        #expect(!server.paths.contains("/goods/3"))
        #expect(server.proxy.activeRequests.isEmpty)
    }

    @Test func `A chain that runs may grow, in a closure and in its delegate`() async throws {
        let chain = APIChain(delegate: screen)
        chain.add { [server] in
            chain.add(server.goods("/goods/3"))
            return server.goods("/goods/1")
        }
        chain.add(server.goods("/goods/2"))
        screen.onEvent = { [server] _, event in
            if event == .progress(3, 3) { chain.add(server.goods("/goods/4")) }
        }
        try await chain.run()
        #expect(server.paths == (1...4).map { "/goods/\($0)" })
        #expect(screen.events == [.progress(1, 3), .progress(2, 3), .progress(3, 3), .progress(4, 4), .success])
        #expect(chain.count == 4 && chain.finishedCount == 4)
    }

    @Test func `A closure ends a chain without a failure by a cancellation`() async throws {
        let chain = APIChain(delegate: screen)
        chain.add(server.goods("/goods/1"))
        chain.add { () throws -> GoodsRequest in
            throw APIError(.cancelled)
        } recover: { _ in
            []
        }
        chain.add(server.goods("/goods/3"))
        chain.start()
        try? await chain.run()
        #expect(screen.events.last == .cancelled && server.paths == ["/goods/1"])
    }

    @Test func `A group whose delegate is released is cancelled, and sends nothing more`() async {
        var screen: GroupScreen? = GroupScreen()
        let chain = APIChain(delegate: screen)
        let first = chain.add(server.goods("/later/goods/1"))
        let payment = chain.add(server.goods("/goods/2"))
        chain.start()
        await server.transport.waitForRequests()
        screen = nil
        server.later.open()
        await suspend(while: chain.isRunning)
        #expect(chain.result?.error?.type == .cancelled)
        #expect((try? first.value.map(\.id)) == [1] && payment.result?.error?.type == .cancelled)
        #expect(server.paths == ["/later/goods/1"])

        screen = GroupScreen()
        let unsent = APIChain()
        unsent.delegate = screen
        unsent.add(server.goods("/goods/3"))
        unsent.start()
        screen = nil
        await suspend(while: unsent.isRunning)
        #expect(unsent.result?.error?.type == .cancelled && server.paths.count == 1)

        screen = GroupScreen()
        let batch = APIBatch(delegate: screen)
        let hanging = batch.add(server.goods("/hang/4"))
        batch.add(server.goods("/goods/5"))
        batch.start()
        screen = nil
        await suspend(while: batch.isRunning)
        #expect(hanging.result?.error?.type == .cancelled)
    }

    @Test func `A chain whose delegate is released recovers from nothing`() async {
        var screen: GroupScreen? = GroupScreen()
        let chain = APIChain(delegate: screen)
        chain.add { [server] in
            server.goods("/later/fail/1")
        } recover: { [server] _ in
            try await server.goods("/goods/2").value()
        }
        chain.start()
        await server.transport.waitForRequests()
        screen = nil
        server.later.open()
        await suspend(while: chain.isRunning)
        #expect(chain.result?.error?.type == .cancelled && server.paths == ["/later/fail/1"])
    }

    @Test(arguments: [false, true])
    func `A chain that grows retains no request that has ended`(_ hasOwnService: Bool) async throws {
        weak var first: GoodsRequest?
        let chain = APIChain()
        chain.add { [server] in
            let request = server.goods("/goods/1")
            if hasOwnService { request.customService = .sample() }
            first = request
            return request
        }
        var isReleased = false
        chain.add { [server] in server.goods("/goods/2") }
        chain.add { [server] in
            isReleased = first == nil
            return server.goods("/goods/3")
        }
        try await chain.run()
        #expect(isReleased && server.paths.count == 3)
    }

    @Test func `A group that somebody waits for, or that has no delegate by intent, goes on without one`() async throws
    {
        for isAwaited in [true, false] {
            var screen: GroupScreen? = GroupScreen()
            let chain = APIChain(delegate: screen)
            for number in 1...3 { chain.add(server.goods("/goods/\(number)")) }
            chain.start()
            if isAwaited {
                screen = nil
                try await chain.run()
            } else {
                chain.delegate = nil
                screen = nil
                await suspend(while: chain.isRunning)
            }
            #expect(chain.result?.error == nil && chain.finishedCount == 3)
            #expect(screen == nil)
        }
    }

    @Test func `A group that is cancelled when it shows its indicator sends nothing`() async {
        final class Canceller: LoadingIndicator {
            var group: APIGroup?
            func showLoading(_ message: String?) { group?.cancel() }
            func hideLoading() { group = nil }
        }
        let (chain, canceller) = (APIChain(delegate: screen), Canceller())
        canceller.group = chain
        chain.add(server.goods("/goods/1"))
        chain.start(indicator: canceller)
        await suspend(while: chain.isRunning)
        #expect(screen.events == [.cancelled] && server.paths.isEmpty && canceller.group == nil)
    }

    @Test func `A group shows its indicators from its start to its ending, before its delegate`() async throws {
        for path in ["/goods/1", "/fail/1"] {
            let (indicator, other) = (IndicatorSpy(), IndicatorSpy())
            let batch = APIBatch(delegate: screen)
            batch.add(server.goods(path))
            batch.add(server.goods("/goods/2"))
            screen.onEvent = { _, event in
                if case .progress = event { #expect(!indicator.isBalanced) } else { #expect(indicator.isBalanced) }
            }
            batch.start(indicator: indicator, message: "Loading …")
            batch.start(indicator: other)
            #expect(indicator.shown == ["Loading …"] && other.shown == [nil])
            try? await batch.run()
            #expect(indicator.hides == 1 && other.hides == 1)
            batch.start(indicator: indicator)
            #expect(indicator.shown.count == 1, "it has ended")
        }
    }

    @Test func `A chain that has ended retains nothing`() async throws {
        let chain = APIChain(delegate: screen)
        weak var captured: Screen?
        weak var made: GoodsRequest?
        do {
            let screen = Screen()
            captured = screen
            chain.add {
                _ = screen.events
                let request = server.goods("/goods/1")
                made = request
                return request
            }
        }
        #expect(captured != nil)
        try await chain.run()
        #expect(captured == nil)
        #expect(made == nil)
    }
}

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

    @Test func `The error of a load that one batch leaves is presented by the other that waits for it`() async {
        let request = server.goods("/later/fail/1")
        request.customRestartPolicy = .ignoreNew
        let batches = [APIBatch(), APIBatch()]
        for (index, batch) in batches.enumerated() {
            batch.add(request)
            batch.start()
            await suspend(while: request.waiters.count <= index)
        }
        batches[0].cancel()
        try? await batches[0].run()
        server.later.open()
        try? await batches[1].run()
        #expect(batches.map { $0.result?.error?.type } == [.cancelled, .http])
        #expect(presenter.types == [.http])
    }

    @Test(arguments: [false, true])
    func `An error that two batches have is presented once, also when one of them is cancelled`(_ cancels: Bool) async {
        let shared = server.goods("/later/fail/1")
        shared.customRestartPolicy = .ignoreNew
        let (first, second) = (APIBatch(), APIBatch())
        for (index, batch) in [first, second].enumerated() {
            batch.add(shared)
            if batch === first { batch.add(server.goods(cancels ? "/hang/2" : "/goods/2")) }
            batch.start()
            await suspend(while: shared.waiters.count <= index)
        }
        server.later.open()
        try? await second.run()
        if cancels { first.cancel() }
        try? await first.run()
        #expect(presenter.types == [.http])
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

    @Test func `A group that is started after one of its requests has failed presents the failure`() async {
        let batch = APIBatch()
        let failing = batch.add(server.goods("/fail/1"))
        batch.add(server.goods("/later/goods/2"))
        let run = Task { try? await batch.run() }
        await suspend(while: failing.result == nil)
        batch.start()
        server.later.open()
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

@MainActor @Suite("Groups and the sessions of their requests", .hangLimit, .timeLimit(.minutes(10)))
struct GroupSessionTests {
    enum Change: CaseIterable {
        case logout, accountSwitch, cancel

        @MainActor func make(in proxy: APIProxy) {
            switch self {
            case .logout: proxy.logout()
            case .accountSwitch: proxy.switchAccount(to: CookieJar())
            case .cancel: proxy.cancelAllRequests()
            }
        }
    }

    private let server = GroupServer()
    private let screen = GroupScreen()

    @Test(arguments: Change.allCases)
    func `After the session of a chain has ended, between two requests, nothing more is sent`(_ change: Change) async {
        let chain = APIChain(delegate: screen)
        chain.add(server.goods("/goods/1"))
        let payment = chain.add(server.goods("/goods/2"))
        screen.onEvent = { [server] _, event in if event == .progress(1, 2) { change.make(in: server.proxy) } }
        chain.start()
        await suspend(while: chain.isRunning)
        #expect(screen.events == [.progress(1, 2), .cancelled])
        #expect(server.paths == ["/goods/1"] && payment.result?.error?.type == .cancelled)
    }

    @Test(arguments: Change.allCases)
    func `After the session of a chain has ended, while it recovers, nothing more is sent`(_ change: Change) async {
        let chain = APIChain(delegate: screen)
        chain.add { [server] in
            server.goods("/fail/1")
        } recover: { [server] _ in
            change.make(in: server.proxy)
            return []
        }
        chain.add(server.goods("/goods/2"))
        chain.start()
        await suspend(while: chain.isRunning)
        #expect(screen.events.last == .cancelled && server.paths == ["/fail/1"])
    }

    @Test(arguments: Change.allCases)
    func `A request that ends after a change of the session is the last one of its chain`(_ change: Change) async {
        let chain = APIChain(delegate: screen)
        chain.add(server.goods("/later/goods/1"))
        chain.add(server.goods("/goods/2"))
        chain.start()
        await server.transport.waitForRequests()
        change.make(in: server.proxy)
        server.later.open()
        await suspend(while: chain.isRunning)
        #expect(screen.events.last == .cancelled && server.paths == ["/later/goods/1"])
    }

    @Test(arguments: [APIBatch.FailurePolicy.waitForAll, .failFast], Change.allCases)
    func `A batch is cancelled when its session ends, also after a success`(
        _ policy: APIBatch.FailurePolicy,
        _ change: Change
    ) async {
        let batch = APIBatch(policy, delegate: screen)
        let first = batch.add(server.goods("/goods/1"))
        let second = batch.add(server.goods("/later/goods/2"))
        screen.onEvent = { [server] _, event in
            guard event == .progress(1, 2) else { return }
            change.make(in: server.proxy)
            server.later.open()
        }
        batch.start()
        await suspend(while: batch.isRunning)
        #expect((try? first.value.map(\.id)) == [1])
        #expect(second.result?.error?.type == .cancelled)
        #expect(screen.events == [.progress(1, 2), .cancelled])
    }

    @Test(arguments: Change.allCases, [false, true])
    func `A group is cancelled by a change that its delegate makes after its last request`(
        _ change: Change,
        _ isBatch: Bool
    ) async {
        let (chain, batch) = (APIChain(delegate: screen), APIBatch(delegate: screen))
        chain.add(server.goods("/goods/1"))
        batch.add(server.goods("/goods/1"))
        let group: APIGroup = isBatch ? batch : chain
        screen.onEvent = { [server] _, event in if event == .progress(1, 1) { change.make(in: server.proxy) } }
        group.start()
        await suspend(while: group.isRunning)
        #expect(screen.events == [.progress(1, 1), .cancelled])
    }

    @Test func `A call of a group is cancelled whose delegate signs out when it has succeeded`() async {
        let batch = APIBatch(delegate: screen)
        batch.add(server.goods("/goods/1"))
        screen.onEvent = { [server] _, event in if event == .success { server.proxy.logout() } }
        let error = await #expect(throws: APIError.self) { try await batch.run() }
        #expect(error?.type == .cancelled && screen.events.last == .success)
    }

    @Test func `A chain signs in, switches to the account, and goes on`() async throws {
        let chain = APIChain(delegate: screen)
        let signIn = server.goods("/goods/2")
        signIn.customLogin = true
        chain.add(server.goods("/goods/1"))
        chain.add(signIn)
        chain.add(server.goods("/goods/3"))
        screen.onEvent = { [server] _, event in
            if event == .progress(2, 3) { server.proxy.switchAccount(to: CookieJar()) }
        }
        try await chain.run()
        #expect(screen.events.last == .success && server.paths == ["/goods/1", "/goods/2", "/goods/3"])
    }

    @Test(arguments: Change.allCases, [false, true])
    func `A group whose session ends before its first request begins sends nothing`(
        _ change: Change,
        _ isBatch: Bool
    ) async {
        let (chain, batch) = (APIChain(delegate: screen), APIBatch(delegate: screen))
        chain.add { [server] in server.goods("/goods/1") }
        batch.add(server.goods("/goods/1"))
        let group: APIGroup = isBatch ? batch : chain
        group.start()
        change.make(in: server.proxy)
        await suspend(while: group.isRunning)
        #expect(screen.events.last == .cancelled && server.paths.isEmpty)
    }

    @Test(arguments: [false, true])
    func `A session that ends before its first request in a chain cancels the chain`(_ signsIn: Bool) async {
        let (chain, other) = (APIChain(delegate: screen), APIService.sample { $0.baseURL = URL("http://other.test") })
        chain.add { [server] in
            let request = server.goods("/goods/1")
            request.customLogin = signsIn
            return request
        }
        chain.add { [server] in
            // Another load is no change of a session.
            server.goods("/goods/2").loadData()
            let request = server.goods("/goods/3")
            request.customService = other
            return request
        }
        screen.onEvent = { [server] _, event in if event == .progress(1, 2) { server.proxy.logout(from: other) } }
        chain.start()
        await suspend(while: chain.isRunning)
        #expect(screen.events.last == .cancelled && !server.paths.contains("/goods/3"))
    }

    @Test func `A closure of a chain that ends the session and fails may be recovered from`() async throws {
        struct SignedOut: Error {}
        let chain = APIChain(delegate: screen)
        chain.add(server.goods("/goods/1"))
        chain.add { [server] () throws -> GoodsRequest in
            server.proxy.logout()
            throw SignedOut()
        } recover: { _ in
            []
        }
        chain.add(server.goods("/goods/3"))
        try await chain.run()
        #expect(screen.events.last == .success && server.paths == ["/goods/1", "/goods/3"])
    }

    @Test(arguments: Change.allCases)
    func `What has changed before a group begins, or in a closure for another service, does not cancel it`(
        _ change: Change
    ) async throws {
        change.make(in: server.proxy)
        let (chain, other) = (APIChain(delegate: screen), APIService.sample { $0.baseURL = URL("http://other.test") })
        chain.add { [server] in
            server.proxy.logout(from: other)
            return server.goods("/goods/1")
        }
        chain.add { [server] in
            let request = server.goods("/goods/2")
            request.customService = other
            return request
        }
        try await chain.run()
        #expect(screen.events.last == .success && server.paths.count == 2)
    }

    @Test(arguments: Change.allCases)
    func `What a closure of a chain changes is meant for its request`(_ change: Change) async throws {
        let chain = APIChain(delegate: screen)
        chain.add(server.goods("/goods/1"))
        chain.add { [server] in
            change.make(in: server.proxy)
            return server.goods("/goods/2")
        }
        try await chain.run()
        #expect(screen.events.last == .success && server.paths == ["/goods/1", "/goods/2"])
    }

    @Test func `Requests with a service of their own each are of one chain`() async throws {
        let chain = APIChain(delegate: screen)
        for number in 1...3 {
            chain.add { [server] in
                let request = server.goods("/goods/\(number)")
                request.customService = APIService(baseURL: URL("https://\(number).example.com/api"))
                return request
            }
        }
        try await chain.run()
        #expect(screen.events.last == .success && server.paths.count == 3)
    }
}

/// A delegate that records the endings of groups.
@MainActor final class GroupScreen: APIGroupDelegate {
    enum Event: Equatable {
        case success
        case failure(APIErrorType)
        case cancelled
        case progress(Int, Int)
    }

    private(set) var events: [Event] = []
    var onEvent: (@MainActor (APIGroup, Event) -> Void)?

    func groupDidSucceed(_ group: APIGroup) { record(.success, group) }
    func group(_ group: APIGroup, didFailWith error: APIError) { record(.failure(error.type), group) }
    func groupDidCancel(_ group: APIGroup) { record(.cancelled, group) }
    func group(_ group: APIGroup, didFinish count: Int, of total: Int) { record(.progress(count, total), group) }

    private func record(_ event: Event, _ group: APIGroup) {
        MainActor.assertIsolated()
        events.append(event)
        onEvent?(group, event)
    }
}

/// Responses by path: `/goods/3` with a list of one article with that number, `/fail/…` with 503; `/hang/…` waits for the
/// first latch, `/later/…` for the second.
@MainActor struct GroupServer {
    let latch = Latch()
    let later = Latch()
    let transport: ScriptedTransport
    let proxy: APIProxy

    init() {
        transport = ScriptedTransport { [latch, later] request throws(TransportError) in
            let parts = request.url.pathComponents
            if parts.contains("hang") { try await latch.wait() }
            if parts.contains("later") { try await later.wait() }
            if parts.contains("fail") { return HTTPResponse(status: 503) }
            return .json(goodsJSON([Goods(id: Int(parts.last ?? "") ?? 0, name: "壶")]))
        }
        proxy = APIProxy(fake: transport)
    }

    func goods(_ path: String, _ proxy: APIProxy? = nil) -> GoodsRequest {
        let request = GoodsRequest(proxy: proxy ?? self.proxy)
        request.path = path
        return request
    }

    func text(_ path: String) -> TextRequest {
        let request = TextRequest(proxy: proxy)
        request.path = path
        return request
    }

    var paths: [String] { transport.requests.map { String($0.url.path().dropFirst("/api".count)) } }
}
