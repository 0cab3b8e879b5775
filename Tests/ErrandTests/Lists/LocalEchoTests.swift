import ErrandTesting
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("An item that is shown before the server has it", .timeLimit(.minutes(10)))
struct LocalEchoTests {
    /// What happens while the item is sent.
    enum Meanwhile: CaseIterable {
        case nothing, anotherItem, reloadBefore, reloadAfter, failure
    }

    @Test(arguments: EditingServer.Way.allCases, Meanwhile.allCases)
    func `It becomes the server's item with another ID, in one row, and no item is skipped`(
        _ way: EditingServer.Way,
        _ meanwhile: Meanwhile
    ) async throws {
        let (server, screen) = (EditingServer(), RequestRecorder())
        server.reset(10)
        let list = Entries(delegate: screen, proxy: APIProxy(service: server.service, transport: server.transport))
        server.way = way
        list.customStrategy = server.strategy()
        let reload = {
            list.reload()
            #expect(await screen.ending() == .success)
        }
        await reload()
        let echo = Entry(id: -1, order: 0)
        try list.insert(echo, at: 0)
        #expect(list.items[0] == echo)
        if meanwhile == .reloadBefore { await reload() }
        if meanwhile == .anotherItem { try list.insert(server.insert(at: 0), at: 0) }
        if meanwhile == .failure {
            try list.remove(id: echo.id)
        } else {
            let sent = server.insert(at: meanwhile == .anotherItem ? 1 : 0)
            if meanwhile == .reloadAfter { await reload() }
            try confirm(echo, as: sent, in: list)
            #expect(list.items.filter { $0 == sent }.count == 1)
        }
        while list.loadNextPage() != nil { #expect(await screen.ending() == .success) }
        #expect(list.items == server.entries)
    }

    /// The steps of the article "Lists".
    private func confirm(_ echo: Entry, as sent: Entry, in list: Entries) throws {
        let row = list.items.firstIndex { $0.id == echo.id }
        if let row, !list.items.contains(where: { $0.id == sent.id }) {
            try list.replace(at: row, with: sent)
        } else {
            try list.remove(id: echo.id)
            try list.insert(sent, at: 0)
        }
    }
}
