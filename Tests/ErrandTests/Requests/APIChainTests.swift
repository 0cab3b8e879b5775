import ErrandTesting
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

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
