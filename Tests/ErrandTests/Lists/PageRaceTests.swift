import ErrandTesting
import Foundation
import Observation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("Lists with responses in another order than their requests", .hangLimit, .timeLimit(.minutes(10)))
struct PageRaceTests {
    final class Numbers: PageAPIRequest<[Int]>, APIManager {
        let path = "/numbers"
        let method = HTTPMethod.get
        var customRestartPolicy = RestartPolicy.cancelPrevious
        override var restartPolicy: RestartPolicy { customRestartPolicy }
        override var strategy: any PageStrategy { .offset(limit: 2) }
    }

    let screen = Screen()
    let transport: ScriptedTransport
    private let gates = Gates()

    init() {
        let count = Counter()
        transport = ScriptedTransport { [gates] _ throws(TransportError) in
            let number = count.next()
            try await gates.wait(number)
            return .json(#"{"errcode":200,"data":[\#(number * 10),\#(number * 10 + 1)]}"#)
        }
    }

    /// Returns a list whose nth request is served with `[10n, 10n + 1]` when its gate opens, or at once without a gate.
    private func list(_ policy: RestartPolicy, _ gates: [Latch?]) -> Numbers {
        self.gates.set(gates)
        let list = Numbers(delegate: screen, proxy: APIProxy(fake: transport))
        list.customRestartPolicy = policy
        return list
    }

    @Test(.fault(20)) func `With cancelPrevious the list is that of the newer reload`() async {
        let gates = [Latch(), Latch()]
        let list = list(.cancelPrevious, gates)
        list.loadData()
        await transport.waitForRequests(1)
        list.loadData()
        await transport.waitForRequests(2)
        for gate in gates { gate.open() }
        #expect(await screen.endings(2) == [.cancelled, .success])
        #expect(list.items == [20, 21])
    }

    @Test(.fault(20)) func `With ignoreNew the list is that of the running reload`() async {
        let gates = [Latch(), Latch()]
        let list = list(.ignoreNew, gates)
        #expect(list.loadData() == list.loadData())
        for gate in gates { gate.open() }
        #expect(await screen.ending() == .success)
        await list.waitUntilIdle()
        #expect(list.items == [10, 11])
        #expect(screen.events == [.success])
        #expect(transport.requests.count == 1)
    }

    @Test(.fault(20), arguments: [false, true])
    func `With ignoreNew a load of the first page replaces a next page that is loading`(_ isReload: Bool) async throws {
        let list = list(.ignoreNew, [nil, Latch()])
        list.reload()
        #expect(await screen.ending() == .success)
        let next = list.loadNextPage()
        await transport.waitForRequests(2)
        let first = isReload ? list.reload() : list.loadData()
        try #require(first != next)
        #expect(list.refreshState.isLoading && !list.appendState.isLoading)
        #expect(await screen.endings(2) == [.cancelled, .success])
        #expect(list.items == [30, 31])
        #expect(list.pageCount == 1)
    }

    @Test(.fault(20)) func `With ignoreNew whatever is asked for while the first page is loading joins it`() async {
        let gate = Latch()
        let list = list(.ignoreNew, [nil, gate])
        list.reload()
        #expect(await screen.ending() == .success)
        let first = list.loadData()
        #expect(list.loadData() == first)
        #expect(list.loadNextPage() == first)
        gate.open()
        #expect(await screen.ending() == .success)
        await list.waitUntilIdle()
        #expect(list.items == [20, 21])
        #expect(screen.events == [.success, .success])
        #expect(transport.requests.count == 2)
    }

    @Test(.fault(20)) func `With concurrent a late response to an older reload changes nothing`() async {
        let gates = [Latch(), Latch()]
        let list = list(.concurrent, gates)
        list.loadData()
        await transport.waitForRequests(1)
        list.loadData()
        await transport.waitForRequests(2)
        gates[1].open()
        #expect(await screen.ending() == .success)
        #expect(list.items == [20, 21])
        gates[0].open()
        #expect(await screen.ending() == .success)
        #expect(list.items == [20, 21])
        #expect(list.response == [20, 21])
        #expect(!list.refreshState.isLoading)
    }

    @Test(.fault(20), .fault(49)) func `With concurrent a late next page changes nothing after a reload`() async {
        let gates = [nil, Latch(), Latch()]
        let list = list(.concurrent, gates)
        list.reload()
        #expect(await screen.ending() == .success)
        list.loadNextPage()
        await transport.waitForRequests(2)
        list.loadData()
        await transport.waitForRequests(3)
        gates[2]?.open()
        #expect(await screen.ending() == .success)
        gates[1]?.open()
        #expect(await screen.ending() == .success)
        #expect(list.items == [30, 31])
        #expect(list.pageCount == 1)
    }

    @Test func `A reader of the items is notified of the next page`() async {
        let list = list(.cancelPrevious, [])
        list.reload()
        #expect(await screen.ending() == .success)
        let changes = Counter()
        withObservationTracking {
            _ = list.items
        } onChange: {
            _ = changes.next()
        }
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        #expect(changes.next() == 2, "there was one change before")
        #expect(list.items == [10, 11, 20, 21])
    }

    @Test func `The items are not copied when a page is added`() async throws {
        let list = list(.cancelPrevious, [])
        var pages = list.pages().makeAsyncIterator()
        var addresses: Set<UnsafeRawPointer> = []
        for _ in 1...512 {
            _ = try await pages.next()
            list.items.withUnsafeBytes { addresses.formUnion($0.baseAddress.map { [$0] } ?? []) }
        }
        // An array that doubles its capacity moves ten times; a copied array moves with each page.
        #expect(addresses.count < 20)
    }

    @Test func `A list that is released while a page is loading cancels its load`() async {
        let gate = Latch()
        var list: Numbers? = list(.cancelPrevious, [nil, gate])
        weak let gone = list
        let proxy = list?.proxy
        list?.reload()
        #expect(await screen.ending() == .success)
        list?.loadNextPage()
        list = nil
        #expect(gone == nil)
        #expect(proxy?.activeRequests.isEmpty == true)
    }
}

/// The gates of requests by their numbers from 1.
private final class Gates: Sendable {
    private let gates = Lock<[Latch?]>([])

    func set(_ gates: [Latch?]) { self.gates.withLock { $0 = gates } }

    func wait(_ number: Int) async throws(TransportError) {
        let gate = gates.withLock { $0.indices.contains(number - 1) ? $0[number - 1] : nil }
        try await gate?.wait()
    }
}
