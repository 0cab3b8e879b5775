import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("A load ends with the last of those who want it", .timeLimit(.minutes(10)))
struct JoinedLoadTests {
    let screen = Screen()

    /// Who wants a load until its end.
    enum Owner: CaseIterable, Sendable {
        case delegate, closure, caller
    }

    /// How a caller leaves.
    enum Leaving: CaseIterable, Sendable {
        case task, outcome, group
    }

    private func request(_ gate: Latch = Latch()) -> GoodsRequest {
        let transport = ScriptedTransport { _ throws(TransportError) in
            try await gate.wait()
            return .json(goodsJSON([]))
        }
        let request = GoodsRequest(delegate: screen, proxy: APIProxy(fake: transport))
        request.customRestartPolicy = .ignoreNew
        return request
    }

    /// Begins or joins a load, and returns what receives its outcome.
    private func want(_ request: GoodsRequest, as owner: Owner) async -> @MainActor () async -> APIErrorType? {
        switch owner {
        case .delegate:
            request.loadData()
            return { [screen] in await screen.ending() == .success ? nil : .cancelled }
        case .closure:
            var outcome: APIErrorType??
            request.loadData { result in outcome = .some(result.error?.type) }
            return {
                await suspend(while: outcome == nil)
                return outcome ?? .cancelled
            }
        case .caller:
            let task = await caller(of: request)
            return { await task.value }
        }
    }

    /// Begins or joins a load in a task.
    private func caller(of request: GoodsRequest) async -> Task<APIErrorType?, Never> {
        let count = request.waiters.count
        let task = Task { await request.outcome() }
        await suspend(while: request.waiters.count == count)
        return task
    }

    /// Begins or joins a load, and leaves it when that is called; returns how it ends.
    private func leaver(of request: GoodsRequest, by leaving: Leaving) async -> @MainActor () async -> APIErrorType? {
        let count = request.waiters.count
        let batch = APIBatch()
        let outcome = batch.add(request)
        switch leaving {
        case .task:
            let task = await caller(of: request)
            return {
                task.cancel()
                return await task.value
            }
        case .outcome, .group:
            batch.start()
            await suspend(while: request.waiters.count == count)
            return {
                if leaving == .group { batch.cancel() } else { outcome.cancel() }
                await suspend(while: batch.isRunning)
                return outcome.result?.error?.type
            }
        }
    }

    @Test(arguments: Owner.allCases, Leaving.allCases)
    func `A caller that leaves ends alone, whether it has begun the load or joined it`(
        _ owner: Owner,
        _ leaving: Leaving
    ) async {
        for beginsLoad in [true, false] {
            let gate = Latch()
            let request = request(gate)
            let leave: @MainActor () async -> APIErrorType?
            let ending: @MainActor () async -> APIErrorType?
            if beginsLoad {
                leave = await leaver(of: request, by: leaving)
                ending = await want(request, as: owner)
            } else {
                ending = await want(request, as: owner)
                leave = await leaver(of: request, by: leaving)
            }
            #expect(await leave() == .cancelled)
            #expect(request.isLoading && request.proxy.activeRequests.count == 1)
            #expect(request.waiters.count == (owner == .delegate ? 0 : 1), "the request is not retained for it")
            gate.open()
            #expect(await ending() == nil)
            #expect((request.proxy.transport as? ScriptedTransport)?.requests.count == 1)
        }
        #expect(screen.events == (owner == .delegate ? [.success, .success] : []))
    }

    @Test(arguments: [1, 2, 5])
    func `The load of callers alone is cancelled with the last of them`(_ count: Int) async {
        let request = request()
        var tasks: [Task<APIErrorType?, Never>] = []
        for _ in 0..<count { tasks.append(await caller(of: request)) }
        for (left, task) in tasks.shuffled().enumerated() {
            #expect(request.proxy.activeRequests.count == 1, "\(left) have left")
            task.cancel()
            #expect(await task.value == .cancelled)
        }
        #expect(request.proxy.activeRequests.isEmpty && !request.isLoading && request.waiters.isEmpty)
        #expect(screen.events.isEmpty)
    }

    @Test(arguments: Owner.allCases) func `A cancel by ID ends the load for all`(_ owner: Owner) async throws {
        let request = request()
        let ending = await want(request, as: owner)
        let joined = await caller(of: request)
        request.proxy.cancelRequest(try #require(request.proxy.activeRequests.first?.id))
        #expect(await joined.value == .cancelled)
        #expect(await ending() == .cancelled)
    }

    @Test func `Callers that leave on other threads while the response arrives and others join end once each`() async {
        for _ in 0..<200 {
            let gate = Latch()
            let request = request(gate)
            let first = await caller(of: request)
            let leaving = Task.detached { first.cancel() }
            let responding = Task.detached { gate.open() }
            // Joins the load, or begins one because that has just been cancelled or has ended.
            #expect(await request.outcome() == nil)
            _ = await (leaving.value, responding.value)
            let outcome = await first.value
            #expect(outcome == nil || outcome == .cancelled)
            #expect(request.proxy.activeRequests.isEmpty && request.waiters.isEmpty)
        }
    }
}
