import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("A list that is edited agrees with its server", .limitedConcurrency, .timeLimit(.minutes(10)))
struct ListEditModelTests {
    /// A run of random edits and loads of a list, and of the same edits of the server's list.
    @MainActor final class Run {
        private enum Action: CaseIterable {
            case next, previous, reload, refreshAll, fail, retry, edit, otherEdit, held, heldReload
        }

        private let seed: UInt64
        private let server: EditingServer
        private let list: Entries
        private let table = EntryTable()
        private var random: SplitMix
        private var trace: [String] = []
        private let isWindow: Bool
        // What the app's list alone has: removed and inserted items, and versions, until the list is replaced.
        private var hidden: Set<Int> = []
        private var locals: Set<Int> = []
        private var versions: [Int: Int] = [:]
        private var lastLocal = 0

        init(_ seed: UInt64, _ server: EditingServer, _ proxy: APIProxy) {
            (self.seed, self.server) = (seed, server)
            random = SplitMix(seed: seed)
            list = Entries(proxy: proxy)
            server.way = EditingServer.Way.allCases.randomElement(using: &random) ?? .number
            // A cursor requests a page of other items when the page before has been edited.
            isWindow = server.way != .cursor && Bool.random(using: &random)
            server.sendsTotal = Bool.random(using: &random)
            server.isStrict = Bool.random(using: &random)
            (server.gate, server.failNextRequest) = (nil, false)
            server.reset(Int.random(in: 0...14, using: &random))
            list.customStrategy = server.strategy(totalIsExact: server.sendsTotal && Bool.random(using: &random))
            list.identifies = Bool.random(using: &random)
            list.maxPages = isWindow ? Int.random(in: 1...3, using: &random) : nil
            list.pageObserver = table
            table.onReload = { [unowned self] in (hidden, locals, versions) = ([], [], [:]) }
        }

        /// Performs random actions; returns false when the list differs from the server's.
        func holds() async -> Bool {
            for _ in 0..<Int.random(in: 2...14, using: &random) {
                let action = Action.allCases.randomElement(using: &random) ?? .next
                trace.append("\(action)")
                guard await take(action), equalsServer() else { return report() }
            }
            list.retry()
            await list.waitUntilLoaded()
            guard await loadAll({ list.loadNextPage() }), equalsServer() else { return report() }
            guard list.items.last(where: isServers)?.id == visible.last?.id || !list.items.contains(where: isServers)
            else { return report() }
            guard isWindow else { return shown.count == visible.count || report() }
            guard await loadAll({ list.loadPreviousPage() }), equalsServer() else { return report() }
            return list.items.first?.id == server.entries.first?.id || report()
        }

        private func take(_ action: Action) async -> Bool {
            switch action {
            case .next: list.loadNextPage()
            case .previous: list.loadPreviousPage()
            case .reload: list.reload()
            case .refreshAll: list.refreshAll()
            case .retry: list.retry()
            case .fail:
                server.failNextRequest = true
                list.loadNextPage()
                if !list.isLoading { server.failNextRequest = false }
            case .edit, .otherEdit: return edit()
            case .held, .heldReload: return await editWhileLoading(reloads: action == .heldReload)
            }
            await list.waitUntilLoaded()
            return true
        }

        /// Edits the list while its response is held, which has been made before the edits or is made after them.
        private func editWhileLoading(reloads: Bool) async -> Bool {
            let (gate, count) = (Latch(), server.queries.count)
            (server.gate, server.respondsEarly) = (gate, Bool.random(using: &random))
            if reloads {
                _ = Bool.random(using: &random) ? list.reload() : list.refreshAll()
            } else {
                _ = Bool.random(using: &random) ? list.loadNextPage() : list.loadPreviousPage()
            }
            await suspend(while: list.isLoading && server.queries.count == count)
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                guard edit() else { return false }
            }
            server.gate = nil
            gate.open()
            await list.waitUntilLoaded()
            return true
        }

        private func loadAll(_ load: () -> RequestID?) async -> Bool {
            for _ in 0..<100 {
                guard load() != nil else { return true }
                await list.waitUntilLoaded()
                if list.error != nil { return false }
            }
            return false
        }

        // MARK: Edits

        private func edit() -> Bool {
            let items = list.items
            guard !items.isEmpty else { return true }
            let row = Int.random(in: items.indices, using: &random)
            // A page of a window is loaded again without the edits that the server does not know.
            let isOnServer = isWindow || Bool.random(using: &random)
            trace.append(isOnServer ? "on server" : "here")
            do throws(ListEditError) {
                switch Int.random(in: 0..<3, using: &random) {
                case 0: try remove(items[row], at: row, isOnServer)
                case 1: try insert(at: Int.random(in: 0...items.count, using: &random), isOnServer)
                default: try replace(items[row], at: row, isOnServer)
                }
            } catch {
                return false
            }
            return true
        }

        private func remove(_ item: Entry, at row: Int, _ isOnServer: Bool) throws(ListEditError) {
            trace.append("remove \(item.id)")
            let isOnServer = isOnServer && isServers(item)
            if isOnServer {
                server.entries.removeAll { $0.id == item.id }
            } else if locals.remove(item.id) == nil {
                hidden.insert(item.id)
            }
            guard list.identifies, Bool.random(using: &random) else {
                try list.remove(at: row, onServer: isOnServer)
                return
            }
            try list.remove(id: item.id, onServer: isOnServer)
        }

        private func insert(at row: Int, _ isOnServer: Bool) throws(ListEditError) {
            trace.append("insert at \(row)")
            guard isOnServer else {
                lastLocal -= 1
                locals.insert(lastLocal)
                try list.insert(Entry(id: lastLocal, order: 0), at: row, onServer: false)
                return
            }
            // Without IDs, a cursor requests an item that the app inserts after the last item of the newest page.
            let isLast = !list.items[row...].contains(where: isServers)
            guard server.way != .cursor || list.identifies || !isLast else { return }
            guard let place = serverPlace(of: row) else { return }
            try list.insert(server.insert(at: place), at: row)
        }

        /// The place of a row in the server's list: after the item before it, or before the item after it.
        private func serverPlace(of row: Int) -> Int? {
            let items = list.items
            if let before = items[..<row].last(where: isServers) { return place(of: before).map { $0 + 1 } }
            return items[row...].first(where: isServers).flatMap(place)
        }

        private func place(of item: Entry) -> Int? { server.entries.firstIndex { $0.id == item.id } }

        private func replace(_ item: Entry, at row: Int, _ isOnServer: Bool) throws(ListEditError) {
            trace.append("replace \(item.id)")
            var item = item
            item.version += 1
            if isOnServer, let place = place(of: item) { server.entries[place] = item }
            versions[item.id] = item.version
            guard list.identifies, Bool.random(using: &random) else {
                return try list.replace(at: row, with: item, onServer: isOnServer)
            }
            try list.replace(item, onServer: isOnServer)
        }

        // MARK: Comparison

        private func isServers(_ item: Entry) -> Bool { !locals.contains(item.id) }
        private var shown: [Entry] { list.items.filter(isServers) }
        private var visible: [Entry] { server.entries.filter { !hidden.contains($0.id) } }

        /// Whether the list has consecutive items of the server's list, from the first one except in a window.
        private func equalsServer() -> Bool {
            guard table.rows == list.items, list.insertedRows.upperBound <= list.items.count else { return false }
            let (shown, visible) = (shown.map(\.id), visible.map(\.id))
            guard isWindow, let first = shown.first else {
                return shown == Array(visible.prefix(shown.count)) && hasVersions
            }
            return shown == Array(visible.drop { $0 != first }.prefix(shown.count))
        }

        private var hasVersions: Bool {
            shown.allSatisfy { item in
                let sent = server.entries.first { $0.id == item.id }?.version
                return item.version == versions[item.id] ?? sent
            }
        }

        private func report() -> Bool {
            Issue.record(
                """
                seed \(seed), \(server.way), IDs \(list.identifies), pages \(list.maxPages ?? 0), total \(server.sendsTotal): \
                \(trace.joined(separator: ", "))
                list:   \(list.items.map { "\($0.id).\($0.version)" }), \(list.pageCount) pages, more \(list.hasMore), \
                previous \(list.hasPrevious), error \(list.error?.reason ?? "none")
                table:  \(table.rows.map { "\($0.id).\($0.version)" })
                server: \(server.entries.map { "\($0.id).\($0.version)" }), hidden \(hidden), local \(locals)
                queries: \(server.queries)
                """
            )
            return false
        }
    }

    @Test(.fault(47), .fault(48))
    func `in 500 random runs, and in 10,000 with slow tests`() async {
        let server = EditingServer()
        let proxy = APIProxy(service: server.service, transport: server.transport)
        let seeds = UInt64(1)...(CookieProbe.runsSlowTests ? 10_000 : 500)
        // Further seeds, which have failed.
        for seed in Array(seeds) + [5753, 6268, 6808, 9323, 16_238, 17_874] {
            guard await Run(seed, server, proxy).holds() else { return }
        }
    }
}
