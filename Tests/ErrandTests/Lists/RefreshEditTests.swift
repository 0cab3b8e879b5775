import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("Edits of a list during a refresh", .hangLimit, .timeLimit(.minutes(10)))
struct RefreshEditTests {
    enum Kind: CaseIterable {
        case replace, replaceID, insert, remove
    }

    final class SharedEntries: PageAPIRequest<PageModel<Entry>>, APIManager {
        let path = "/entries"
        let method = HTTPMethod.get
        var startOffset = 0
        override var strategy: any PageStrategy { .offset(limit: 3, startOffset: startOffset) }
        override var options: APIRequestOptions { APIRequestOptions(coalescesIdentical: true) }
    }

    let server = EditingServer()
    let screen = Screen()
    let clock = ManualClock()
    let list: Entries

    init() {
        server.reset(10)
        var service = server.service
        service.deadline = .seconds(10)
        list = Entries(
            delegate: screen,
            proxy: APIProxy(service: service, transport: server.transport, clock: clock)
        )
        list.customStrategy = server.strategy()
    }

    private func load(_ pages: Int) async {
        for _ in 0..<pages {
            list.loadNextPage()
            await list.waitUntilLoaded()
        }
    }

    private func loadRest() async {
        while list.loadNextPage() != nil { await list.waitUntilLoaded() }
    }

    /// Changes the list of the server and that of the app in the same way.
    private func edit(_ kind: Kind) throws {
        guard let first = list.items.first, let place = server.entries.firstIndex(of: first) else { return }
        switch kind {
        case .replace:
            server.entries[place].version += 1
            try list.replace(server.entries[place])
        case .replaceID:
            let new = Entry(id: first.id + 100, order: first.order)
            server.entries[place] = new
            try list.replace(at: 0, with: new)
        case .insert:
            try list.insert(server.insert(at: place), at: 0)
            try list.insert(server.insert(at: place + 2), at: 2)
        case .remove:
            server.entries.remove(at: place)
            try list.remove(id: first.id)
        }
    }

    @Test(arguments: Kind.allCases, EditingServer.Way.allCases)
    func `A refresh of a list that is edited more often than the server responds fails and keeps the items`(
        _ kind: Kind,
        _ way: EditingServer.Way
    ) async throws {
        server.way = way
        list.customStrategy = server.strategy()
        for refresh in [{ $0.reload() }, { $0.refreshAll() }] as [@MainActor (Entries) -> RequestID] {
            server.reset(20)
            list.reload()
            await list.waitUntilLoaded()
            await load(4)
            let requests = server.queries.count
            server.onResponse = { try edit(kind) }
            _ = refresh(list)
            await list.waitUntilLoaded()
            server.onResponse = {}
            if kind == .replace {
                // In the responses, from then on.
                #expect(list.refreshState.error == nil)
                #expect(server.queries.count < requests + 10)
            } else {
                #expect(list.refreshState.error?.type == .invalidResponse)
                #expect(server.queries.count == requests + 11)
            }
            #expect(!list.items.isEmpty && list.items == Array(server.entries.prefix(list.items.count)))
            list.retry()
            await list.waitUntilLoaded()
            await loadRest()
            #expect(list.items == server.entries)
        }
    }

    @Test(arguments: [true, false])
    func `An edit of an item that the list does not have yet makes a load that may have it begin again`(
        _ isFirst: Bool
    ) async throws {
        if !isFirst { await load(1) }
        let (requests, place) = (server.queries.count, isFirst ? 1 : 4)
        server.onResponse = { [server, list] in
            guard server.queries.count == requests + 1 else { return }
            // The response has the item already.
            let removed = server.entries.remove(at: place)
            let wasFound = try list.remove(id: removed.id)
            #expect(!wasFound)
        }
        await load(1)
        #expect(server.queries.count == requests + 2)
        #expect(list.items == Array(server.entries.prefix(list.items.count)))
        // Events of another list arrive with each response.
        server.onResponse = { [list] in try list.remove(id: 1_000) }
        await load(1)
        #expect(server.queries.count == requests + 6 && list.appendState.error == nil)
        server.onResponse = { [list] in try list.remove(id: 1_000, onServer: false) }
        await load(1)
        #expect(server.queries.count == requests + 7, "it is no edit of the server's list")
    }

    @Test func `Each of several items that the list does not have any more makes a reload begin again`() async throws {
        await load(1)
        let (count, removed) = (server.queries.count, Array(server.entries[0..<2]))
        for entry in removed { try list.remove(id: entry.id) }
        server.onResponse = { [server, list] in
            // The app learns of each success after the response has been made.
            guard case let index = server.queries.count - count - 1, index < 2 else { return }
            server.entries.removeAll { $0.id == removed[index].id }
            let wasFound = try list.remove(id: removed[index].id)
            #expect(!wasFound)
        }
        list.reload()
        await list.waitUntilLoaded()
        #expect(server.queries.count == count + 3)
        #expect(list.items == Array(server.entries.prefix(list.items.count)))
    }

    @Test func `A refresh that begins again has no cursor of the page that an edit moved`() async throws {
        server.way = .cursor
        list.customStrategy = server.strategy()
        await load(2)
        let requests = server.queries.count
        server.onResponse = { [server, list] in
            guard server.queries.count == requests + 2 else { return }
            let removed = server.entries.removeFirst()
            try list.remove(id: removed.id)
        }
        list.refreshAll()
        await list.waitUntilLoaded()
        let cursors = server.queries[requests...].map { !$0.isEmpty }
        #expect(cursors == [false, true, false, true])
        #expect(list.items == Array(server.entries.prefix(6)))
    }

    @Test(arguments: [false, true])
    func `A load of a page with progress is released when it has ended`(_ isRepeated: Bool) async throws {
        await load(1)
        if isRepeated {
            server.onResponse = { [server, list] in
                server.onResponse = {}
                let removed = server.entries.removeFirst()
                try list.remove(id: removed.id)
            }
        }
        weak var released: DeinitObserver?
        do {
            let observer = DeinitObserver {}
            released = observer
            _ = try await list.value { _ in withExtendedLifetime(observer) {} }
            let (gate, requests) = (Latch(), server.queries.count)
            server.gate = gate
            let cancelled = Task { [list] in try await list.value { _ in withExtendedLifetime(observer) {} } }
            await suspend(while: server.queries.count == requests)
            list.cancelAllRequests()
            gate.open()
            await #expect(throws: APIError.self) { try await cancelled.value }
        }
        await suspend(while: released != nil)
    }

    @Test func `Edits inside the validator fail a reload in the end`() async throws {
        await load(1)
        let validator = ValidatorSpy()
        validator.acceptsContent = { _ in (try? edit(.replaceID)) != nil }
        list.validator = validator
        list.reload()
        await list.waitUntilLoaded()
        #expect(server.queries.count == 12, "the first page, the reload, and its repeats")
        #expect(list.refreshState.error?.type == .invalidResponse)
        list.validator = nil
        await loadRest()
        #expect(list.items == server.entries)
    }

    @Test func `Edits between two pages of a refresh of all pages fail it in the end`() async throws {
        await load(2)
        let requests = server.queries.count
        list.onService = { [server, unowned list] in
            guard list.list.followUp == .remaining, server.queries.count < 60 else { return }
            try? list.replace(at: 0, with: Entry(id: list.items[0].id + 100, order: list.items[0].order))
        }
        list.refreshAll()
        await list.waitUntilLoaded()
        #expect(list.refreshState.error?.type == .invalidResponse)
        #expect(server.queries.count == requests + 11)
    }

    @Test func `A reload that is repeated has one deadline`() async throws {
        await load(1)
        #expect(await screen.ending() == .success)
        let (first, second) = (Latch(), Latch())
        defer { second.open() }
        server.gate = first
        list.reload()
        await suspend(while: server.queries.count == 1)
        await clock.waitForSleepers()
        clock.advance(by: .seconds(6))
        try edit(.remove)
        server.gate = second
        first.open()
        await suspend(while: server.queries.count == 2)
        await clock.waitForSleepers()
        clock.advance(by: .seconds(3))
        #expect(list.isLoading)
        clock.advance(by: .seconds(1))
        #expect(await screen.ending() == .failure(.timeout))
        #expect(server.queries.count == 3)
    }

    @Test func `A page that is requested again shares no exchange that was sent before the edit`() async throws {
        let proxy = APIProxy(service: server.service, transport: server.transport)
        let (edited, other) = (SharedEntries(delegate: screen, proxy: proxy), SharedEntries(proxy: proxy))
        edited.loadNextPage()
        #expect(await screen.ending() == .success)
        let (gate, otherGate) = (Latch(), Latch())
        (server.gate, server.respondsEarly) = (gate, true)
        edited.loadNextPage()
        await suspend(while: server.queries.count == 1)
        server.gate = otherGate
        other.startOffset = 2
        other.reload()
        await suspend(while: server.queries.count == 2)
        server.entries.removeFirst()
        try edited.remove(at: 0)
        server.gate = nil
        gate.open()
        #expect(await screen.ending() == .success)
        #expect(server.queries.suffix(2) == ["limit=3&offset=2", "limit=3&offset=2"])
        #expect(edited.items == Array(server.entries.prefix(5)))
        otherGate.open()
    }

    @Test func `A page that cannot be requested again fails, and its old response is not used`() async throws {
        server.way = .offset
        list.customStrategy = server.strategy()
        list.identifies = false
        await load(1)
        let gate = Latch()
        (server.gate, server.respondsEarly) = (gate, true)
        list.loadNextPage()
        await suspend(while: server.queries.count == 1)
        server.entries.removeFirst()
        try list.remove(at: 0)
        list.customStrategy = .offset(limit: 0)
        server.gate = nil
        gate.open()
        await list.waitUntilLoaded()
        #expect(list.appendState.error?.type == .invalidRequest)
        #expect(list.items == Array(server.entries.prefix(2)))
        list.customStrategy = server.strategy()
        list.retry()
        await list.waitUntilLoaded()
        await loadRest()
        #expect(list.items == server.entries)
    }
}
