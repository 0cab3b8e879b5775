@testable import Errand
@testable import ErrandTestSupport

/// The settings of the model's list.
struct ModelRules {
    /// The strategy of the list.
    enum Way: CaseIterable {
        case number, offset, cursor
    }

    static let pageSize = 3

    let way: Way
    let hasIDs: Bool
    let maxPages: Int?

    init(using random: inout SplitMix) {
        way = Way.allCases.randomElement(using: &random) ?? .number
        hasIDs = Bool.random(using: &random)
        maxPages = Bool.random(using: &random) ? nil : Int.random(in: 1...3, using: &random)
    }

    var strategy: any PageStrategy {
        switch way {
        case .number: .pageNumber(size: Self.pageSize)
        case .offset: .offset(limit: Self.pageSize)
        case .cursor: .cursor(next: .header("Next"))
        }
    }

    /// Returns whether the page after this one is requested.
    func hasPage(after start: Int, sent: Int, largest: Int, of total: Int) -> Bool {
        switch way {
        case .cursor: start + Self.pageSize < total
        case .number, .offset: sent > 0 && (sent == Self.pageSize || sent == largest)
        }
    }

    /// Returns the start of the page after this one.
    func start(after start: Int, sent: Int) -> Int { start + (way == .offset ? sent : Self.pageSize) }
}

/// A simple model of a list: an array of pages, each with the number of items before it.
struct ListModel {
    struct Page {
        let start: Int
        let sent: Int
        let shown: [Int]
    }

    struct Content {
        var pages: [Page] = []
        var next: Int?
        var newest: [Int] = []
        var repeats = 0
        var isDead = false
        /// The starts of the previous pages.
        var front: [Int] = []
        var sentBefore = 0
        var largest = 0
        var endsByRepeat = false

        var items: [Int] { pages.flatMap(\.shown) }
        var pagesWithItems: Int { pages.count { !$0.shown.isEmpty } }
        var previous: Int? { front.last }

        mutating func append(_ start: Int, of server: [Int], _ rules: ModelRules) {
            let page = Array(server.dropFirst(start).prefix(ModelRules.pageSize))
            let known = Set(items)
            let shown = rules.hasIDs ? page.filter { !known.contains($0) } : page
            guard !endsByRepeat || !shown.isEmpty && (rules.hasIDs || page != newest) else {
                (next, isDead) = (nil, false)
                return
            }
            let isRepeat = !page.isEmpty && (rules.hasIDs ? shown.isEmpty : page == newest)
            repeats = isRepeat ? repeats + 1 : 0
            newest = page
            largest = max(largest, page.count)
            let hasPage = rules.hasPage(after: start, sent: page.count, largest: largest, of: server.count)
            next = hasPage ? rules.start(after: start, sent: page.count) : nil
            isDead = repeats == 3
            guard hasPage || !page.isEmpty || pages.isEmpty else { return }
            let isFirst = sentBefore + pages.reduce(0) { $0 + $1.sent } == 0
            endsByRepeat = rules.way != .cursor && hasPage && isFirst && page.count < ModelRules.pageSize
            pages.append(Page(start: start, sent: page.count, shown: shown))
        }

        mutating func prepend(of server: [Int], _ rules: ModelRules) -> Bool {
            let start = front.removeLast()
            var page = Array(server.dropFirst(start).prefix(ModelRules.pageSize))
            largest = max(largest, page.count)
            if rules.way == .offset, let first = pages.first?.start, first > start {
                guard page.isEmpty || page.count >= first - start else {
                    front = [first - page.count]
                    return false
                }
                page = Array(page.prefix(first - start))
            }
            let known = Set(items)
            let shown = rules.hasIDs ? page.filter { !known.contains($0) } : page
            pages.insert(Page(start: start, sent: page.count, shown: shown), at: 0)
            if front.isEmpty, start > 0 { front = [max(0, start - (largest > 0 ? largest : ModelRules.pageSize))] }
            sentBefore = front.isEmpty ? 0 : max(0, sentBefore - page.count)
            return true
        }

        mutating func dropFirst(_ rules: ModelRules) {
            while let limit = rules.maxPages, pagesWithItems > limit {
                let page = pages.removeFirst()
                front.append(page.start)
                sentBefore += page.sent
            }
        }

        mutating func dropLast(_ rules: ModelRules) {
            while let limit = rules.maxPages, pagesWithItems > limit {
                next = pages.removeLast().start
                isDead = false
                endsByRepeat = false
            }
        }
    }

    enum Part: Equatable { case refresh, refreshAll, append, prepend }

    let rules: ModelRules
    var content = Content()
    var loading: Part?
    var failed: Set<Part> = []

    mutating func begin(_ part: Part) {
        loading = part
        failed.remove(part)
        if part == .refresh { failed.remove(.refreshAll) }
        if part == .refreshAll { failed.remove(.refresh) }
    }

    /// Returns what a request for the next or the previous page begins; `nil` for nothing.
    func partToLoad(for part: Part) -> Part? {
        guard loading == nil else { return nil }
        if content.pages.isEmpty { return .refresh }
        return (part == .append ? content.next : content.previous) == nil ? nil : part
    }

    /// What a retry begins; `nil` for nothing.
    var retry: Part? {
        if let refresh = [Part.refresh, .refreshAll].first(where: failed.contains) { return refresh }
        return [Part.append, .prepend].first(where: failed.contains).flatMap(partToLoad)
    }

    /// Ends the load that runs; the server fails its request number `failure`.
    mutating func settle(_ server: [Int], failure: Int?) {
        guard let part = loading else { return }
        loading = nil
        switch part {
        case .refresh: refresh(server, failure)
        case .refreshAll: refreshAll(server, failure)
        case .append where content.isDead || failure == 0: failed.insert(.append)
        case .append:
            content.append(content.next ?? 0, of: server, rules)
            content.dropFirst(rules)
        case .prepend where failure == 0: failed.insert(.prepend)
        case .prepend:
            var requests = 1
            while !content.prepend(of: server, rules) {
                requests += 1
                guard requests - 1 != failure else {
                    failed.insert(.prepend)
                    return
                }
            }
            content.dropLast(rules)
        }
    }

    private mutating func refresh(_ server: [Int], _ failure: Int?) {
        guard failure != 0 else {
            failed.insert(.refresh)
            return
        }
        replaceContent { $0.append(0, of: server, $1) }
    }

    private mutating func refreshAll(_ server: [Int], _ failure: Int?) {
        var fresh = Content()
        (fresh.front, fresh.sentBefore) = (content.front, content.front.isEmpty ? 0 : content.sentBefore)
        var start = content.pages.first?.start
        for number in 0..<max(1, content.pages.count) {
            guard failure != number, !fresh.isDead else {
                failed.insert(.refreshAll)
                return
            }
            fresh.append(start ?? 0, of: server, rules)
            start = fresh.next
            if start == nil || fresh.pagesWithItems == rules.maxPages { break }
        }
        replaceContent { content, _ in content = fresh }
    }

    private mutating func replaceContent(_ fill: (inout Content, ModelRules) -> Void) {
        content = Content()
        fill(&content, rules)
        failed = []
    }
}
