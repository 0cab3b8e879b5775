import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("A page of a list ends with the last of those who want it", .timeLimit(.minutes(10)))
struct JoinedPageTests {
    let screen = Screen()
    let gate = Latch()

    /// A list whose second page waits.
    private func list() -> OffsetNumbers {
        let server = NumberServer(count: 35)
        let transport = ScriptedTransport { [gate] request in
            if request.url.query()?.contains("offset=0") == false { try await gate.wait() }
            return server.response(request)
        }
        return OffsetNumbers(delegate: screen, proxy: APIProxy(fake: transport))
    }

    /// Waits for the second page in a task that has received the first.
    private func iteration(_ list: OffsetNumbers) async -> Task<[Int]?, any Error> {
        let task = Task {
            var pages = list.pages().makeAsyncIterator()
            _ = try await pages.next()
            return try await pages.next()
        }
        await suspend(while: list.items.isEmpty || !list.appendState.isLoading)
        return task
    }

    @Test func `An iteration that is cancelled leaves a page that the screen has joined`() async {
        let list = list()
        let pages = await iteration(list)
        let id = list.loadNextPage()
        #expect(list.proxy.activeRequests.map(\.id) == [id])
        pages.cancel()
        await #expect { try await pages.value } throws: { ($0 as? APIError)?.type == .cancelled }
        #expect(list.proxy.activeRequests.map(\.id) == [id] && list.waiters.isEmpty)
        gate.open()
        #expect(await screen.ending() == .success)
        #expect(list.items == Array(0..<20))
    }

    @Test func `An iteration that has joined a page leaves it to the screen`() async throws {
        let list = list()
        var iterator = list.pages().makeAsyncIterator()
        _ = try await iterator.next()
        list.loadNextPage()
        let joined = Task { [iterator] in
            var iterator = iterator
            return try await iterator.next(isolation: #isolation)
        }
        await suspend(while: list.waiters.isEmpty)
        joined.cancel()
        await #expect { try await joined.value } throws: { ($0 as? APIError)?.type == .cancelled }
        gate.open()
        #expect(await screen.ending() == .success)
        #expect(list.items == Array(0..<20))
    }

    @Test func `A page that only an iteration wants is cancelled with it`() async {
        let list = list()
        let pages = await iteration(list)
        pages.cancel()
        await #expect { try await pages.value } throws: { ($0 as? APIError)?.type == .cancelled }
        #expect(list.proxy.activeRequests.isEmpty && list.items == Array(0..<10))
        #expect(screen.events.isEmpty)
    }
}
