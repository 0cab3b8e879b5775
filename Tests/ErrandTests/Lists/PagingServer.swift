import ErrandTesting
import Foundation

@testable import Errand
@testable import ErrandTestSupport

/// A server that deviates in page sizes, totals, and responses after the end.
final class PagingServer: Sendable {
    /// How the server uses the requested size.
    enum Size: CaseIterable {
        case honoured, capped, ignored, roundedUp, roundedDown

        func effective(requested asked: Int, own: Int) -> Int {
            switch self {
            case .honoured: asked
            case .capped: min(asked, own)
            case .ignored: own
            case .roundedUp: (asked + own - 1) / own * own
            case .roundedDown: max(own, asked / own * own)
            }
        }
    }

    /// The totals in a response.
    enum Total: CaseIterable {
        case none, items, pages, pagesOfAskedSize, both
    }

    /// The response to a request for a page after the end.
    enum PastEnd: CaseIterable {
        case empty, notFound, lastPage
    }

    /// How the end of the list changes while it is loaded.
    enum Change: CaseIterable {
        case none, grows, shrinks
    }

    struct Rules {
        var way = Way.number
        var size = Size.honoured
        var customSize = 5
        var asked = 5
        var total = Total.none
        /// The error of each total.
        var error = 0
        var pastEnd = PastEnd.empty
        var change = Change.none
    }

    enum Way: CaseIterable { case number, offset, cursor, link }

    private struct State {
        var count: Int
        var requests = 0
        var served = 0
        var remaining = 0
    }

    let rules: Rules
    private let state: Lock<State>

    init(_ rules: Rules, count: Int) {
        self.rules = rules
        state = Lock(State(count: count))
    }

    var count: Int { state.withLock(\.count) }
    /// The number of items after the newest page that was not empty.
    var remaining: Int { state.withLock(\.remaining) }
    var served: Int { state.withLock(\.served) }
    var requests: Int { state.withLock(\.requests) }

    var transport: ScriptedTransport { ScriptedTransport(keepsRequests: false) { [self] in response($0) } }

    private func response(_ request: HTTPRequest) -> HTTPResponse {
        let query = URLComponents(url: request.url, resolvingAgainstBaseURL: true)?.queryItems ?? []
        func number(_ name: String) -> Int? { query.first { $0.name == name }?.value.flatMap { Int($0) } }
        return state.withLock { state in
            change(&state)
            state.requests += 1
            let size = rules.size.effective(requested: number("size") ?? rules.asked, own: rules.customSize)
            var start = number("start") ?? ((number("page") ?? 1) - 1) * size
            if start >= state.count, start > 0 {
                if rules.pastEnd == .notFound { return HTTPResponse(status: 404) }
                if rules.pastEnd == .lastPage { start = max(0, (state.count - 1) / size * size) }
            }
            return page(start, size, &state)
        }
    }

    private func change(_ state: inout State) {
        guard state.requests > 0, state.requests < 6 else { return }
        switch rules.change {
        case .none: break
        case .grows: state.count += state.requests % 3
        case .shrinks: state.count = max(state.served, state.count - state.requests % 3)
        }
    }

    private func page(_ start: Int, _ size: Int, _ state: inout State) -> HTTPResponse {
        let end = min(state.count, start + size)
        let list = Array(start..<max(start, end))
        if start < end { state.served = max(state.served, end) }
        state.remaining = start < end ? state.count - end : min(state.remaining, state.count - state.served)
        var members = [#""list":\#(list)"#]
        // Without IDs, a repeated page is recognized by its bytes.
        if rules.pastEnd != .lastPage { members.append(#""time":\#(state.requests)"#) }
        func pages(of size: Int) -> Int { (state.count + size - 1) / size + rules.error }
        if [.items, .both].contains(rules.total) { members.append(#""totalRow":\#(state.count + rules.error)"#) }
        if [.pages, .both].contains(rules.total) { members.append(#""totalPage":\#(pages(of: size))"#) }
        if rules.total == .pagesOfAskedSize { members.append(#""totalPage":\#(pages(of: rules.asked))"#) }
        if end < state.count, rules.way == .cursor { members.append(#""next":"\#(end)""#) }
        var headers: HTTPHeaders = ["Content-Type": "application/json"]
        if end < state.count, rules.way == .link { headers["Link"] = "<?start=\(end)>; rel=next" }
        return HTTPResponse(status: 200, headers: headers, body: Data("{\(members.joined(separator: ","))}".utf8))
    }
}

extension PagingServer.Rules {
    init(using random: inout SplitMix) {
        way = PagingServer.Way.allCases.randomElement(using: &random) ?? .number
        size = PagingServer.Size.allCases.randomElement(using: &random) ?? .honoured
        customSize = Int.random(in: 1...6, using: &random)
        asked = Int.random(in: 1...8, using: &random)
        total = PagingServer.Total.allCases.randomElement(using: &random) ?? .none
        error = Int.random(in: -1...1, using: &random)
        pastEnd = PagingServer.PastEnd.allCases.randomElement(using: &random) ?? .empty
        change =
            Int.random(in: 0..<3, using: &random) > 0
            ? .none : PagingServer.Change.allCases.randomElement(using: &random) ?? .none
        // A repeated last page is the end if the total is reached; without a total it is a faulty server.
        if pastEnd == .lastPage, way != .number || ![.items, .both].contains(total) { pastEnd = .notFound }
        // A total includes items that have been removed since it was sent.
        if change == .shrinks { pastEnd = .empty }
        // An item added to a page that has been loaded is on no later page.
        if change == .grows, way == .number { change = .none }
    }

    func strategy(opening: Int? = nil) -> any PageStrategy {
        switch way {
        case .number: .pageNumber(sizeKey: "size", size: asked, startNumber: opening)
        case .offset: .offset(offsetKey: "start", limitKey: "size", limit: asked, startOffset: opening ?? 0)
        case .cursor: .cursor("start", next: .body("next"), sizeKey: "size", size: asked)
        case .link: .link(sizeKey: "size", size: asked)
        }
    }
}
