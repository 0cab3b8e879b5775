import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

/// An item of the server of edits; its version distinguishes an edited item.
struct Entry: Codable, Sendable, Hashable {
    let id: Int
    /// Its place in the server's list.
    let order: Double
    var version = 0
}

/// A server of a list that an app edits, in pages of three.
@MainActor final class EditingServer {
    enum Way: CaseIterable {
        case number, offset, cursor
    }

    static let pageSize = 3

    var way = Way.number
    /// Whether a cursor is that of the first item of the next page, and not of the last one before it.
    var cursorIsOfNextItem = false
    var entries: [Entry] = []
    var sendsTotal = false
    /// Whether a page after the end is a 404.
    var isStrict = false
    var failNextRequest = false
    /// Holds all responses until it is open.
    var gate: Latch?
    /// Whether a held response is made before the gate is open.
    var respondsEarly = false
    /// Called when a response has been made, which does not contain what this changes.
    var onResponse: () throws -> Void = {}
    private(set) var queries: [String] = []
    private var lastID = 0

    var service: APIService { .sample { $0.envelope = nil } }
    var transport: ScriptedTransport { ScriptedTransport(keepsRequests: false) { [self] in await response($0) } }

    func strategy(totalIsExact: Bool = false) -> any PageStrategy {
        switch way {
        case .number: .pageNumber(sizeKey: "size", size: 3, totalIsExact: totalIsExact)
        case .offset: .offset(limit: 3, totalIsExact: totalIsExact)
        case .cursor: .cursor(next: .body("next"))
        }
    }

    func reset(_ count: Int) {
        (entries, lastID, queries) = ([], 0, [])
        for _ in 0..<count { insert(at: entries.count) }
    }

    /// Inserts a new item and returns it.
    @discardableResult
    func insert(at place: Int) -> Entry {
        let before = place == 0 ? (entries.first?.order ?? 1) - 1 : entries[place - 1].order
        let after = place == entries.count ? before + 2 : entries[place].order
        lastID += 1
        let entry = Entry(id: lastID, order: (before + after) / 2)
        entries.insert(entry, at: place)
        return entry
    }

    private func response(_ request: HTTPRequest) async -> HTTPResponse {
        // The response to a cancelled load is not used.
        guard !Task.isCancelled else { return HTTPResponse(status: 500) }
        queries.append(request.url.query ?? "")
        let early = page(for: request)
        do { try onResponse() } catch { return HTTPResponse(status: 500) }
        guard let gate else { return early }
        await gate.waitIgnoringCancellation()
        return respondsEarly ? early : page(for: request)
    }

    private func page(for request: HTTPRequest) -> HTTPResponse {
        guard !failNextRequest else {
            failNextRequest = false
            return HTTPResponse(status: 503)
        }
        let query = URLComponents(url: request.url, resolvingAgainstBaseURL: true)?.queryItems ?? []
        func value(_ name: String) -> String? { query.first { $0.name == name }?.value }
        func number(_ name: String) -> Int? { value(name).flatMap { Int($0) } }
        let cursor = value("cursor").flatMap { Double($0) }
        let start = cursor.map { cursor in
            entries.firstIndex { cursorIsOfNextItem ? $0.order >= cursor : $0.order > cursor } ?? entries.count
        }
        let place = start ?? number("offset") ?? ((number("page") ?? 1) - 1) * Self.pageSize
        guard !isStrict || place == 0 || place < entries.count else { return HTTPResponse(status: 404) }
        return page(at: place)
    }

    private func page(at place: Int) -> HTTPResponse {
        let page = Array(entries.dropFirst(place).prefix(Self.pageSize))
        let json = (try? JSONEncoder().encode(page)) ?? Data()
        var members = [#""list":\#(String(decoding: json, as: UTF8.self))"#]
        if sendsTotal { members.append(#""totalRow":\#(entries.count)"#) }
        if let last = page.last, place + page.count < entries.count {
            let next = cursorIsOfNextItem ? entries[place + page.count] : last
            members.append(#""next":"\#(next.order)""#)
        }
        return .json("{\(members.joined(separator: ","))}")
    }
}

/// A list of the server of edits.
final class Entries: PageAPIRequest<PageModel<Entry>>, APIManager {
    let path = "/entries"
    let method = HTTPMethod.get
    var customStrategy: any PageStrategy = .pageNumber()
    var identifies = true
    var onService: () -> Void = {}
    var onIdentity: () -> Void = {}
    override var strategy: any PageStrategy { customStrategy }
    override var itemID: ItemID<Entry>? {
        onIdentity()
        return identifies ? ItemID(\.id) : nil
    }
    override var service: APIService? {
        onService()
        return nil
    }

    /// Waits until no page is loading.
    func waitUntilLoaded() async {
        await suspend(while: isLoading || [refreshState, appendState, prependState].contains(where: \.isLoading))
    }
}

/// Applies the changes of a list to rows.
@MainActor final class EntryTable: PageListObserver {
    private(set) var rows: [Entry] = []
    private(set) var changes: [String] = []
    private(set) var reloads = 0
    var onReload: () -> Void = {}
    var onChange: () -> Void = {}

    func pageListDidReload(_ request: BaseAPIRequest) {
        rows = items(of: request)
        reloads += 1
        onReload()
    }

    func pageList(_ request: BaseAPIRequest, didInsert inserted: Range<Int>, removing removed: Range<Int>) {
        changes.append("+\(inserted.count)-\(removed.count)")
        rows.removeSubrange(removed)
        rows.insert(contentsOf: items(of: request)[inserted], at: inserted.lowerBound)
        onChange()
    }

    func pageList(_ request: BaseAPIRequest, didReplace replaced: Range<Int>) {
        changes.append("=\(replaced.count)")
        rows.replaceSubrange(replaced, with: items(of: request)[replaced])
        onChange()
    }

    private func items(of request: BaseAPIRequest) -> [Entry] { (request as? Entries)?.items ?? [] }
}
