@testable import Errand

/// How the model's list is asked for and shown.
struct ModelRules {
    /// How a page knows whether there is another one.
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
        case .number: PageNumber(size: Self.pageSize)
        case .offset: OffsetLimit(limit: Self.pageSize)
        case .cursor: Cursor(next: .header("Next"))
        }
    }

    /// Whether a list of `total` has a page behind its page `index`.
    func hasPage(behind index: Int, of total: Int) -> Bool {
        switch way {
        case .cursor: (index + 1) * Self.pageSize < total
        case .number, .offset: (index + 1) * Self.pageSize <= total
        }
    }
}

/// What a list should be, told as simply as possible: pages by their index, in an array.
struct ListModel {
    struct Page {
        let index: Int
        let shown: [Int]
    }

    struct Content {
        var pages: [Page] = []
        var next: Int?
        var newest: [Int] = []
        var repeats = 0
        var isDead = false

        var items: [Int] { pages.flatMap(\.shown) }
        var previous: Int? { pages.first.flatMap { $0.index > 0 ? $0.index - 1 : nil } }

        mutating func append(_ index: Int, of server: [Int], _ rules: ModelRules) {
            let page = Array(server.dropFirst(index * ModelRules.pageSize).prefix(ModelRules.pageSize))
            let known = Set(items)
            let shown = rules.hasIDs ? page.filter { !known.contains($0) } : page
            let isRepeat = !page.isEmpty && (rules.hasIDs ? shown.isEmpty : page == newest)
            repeats = isRepeat ? repeats + 1 : 0
            newest = page
            pages.append(Page(index: index, shown: shown))
            next = rules.hasPage(behind: index, of: server.count) ? index + 1 : nil
            isDead = repeats == 3
        }

        mutating func prepend(_ index: Int, of server: [Int], _ rules: ModelRules) {
            let page = Array(server.dropFirst(index * ModelRules.pageSize).prefix(ModelRules.pageSize))
            let known = Set(items)
            pages.insert(Page(index: index, shown: rules.hasIDs ? page.filter { !known.contains($0) } : page), at: 0)
        }

        mutating func dropFirst(_ rules: ModelRules) {
            if let limit = rules.maxPages, pages.count > limit { pages.removeFirst() }
        }

        mutating func dropLast(_ rules: ModelRules) {
            guard let limit = rules.maxPages, pages.count > limit else { return }
            next = pages.removeLast().index
            isDead = false
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

    /// What a wish for the next or the previous page begins; `nil` for nothing.
    func wish(_ part: Part) -> Part? {
        guard loading == nil else { return nil }
        if content.pages.isEmpty { return .refresh }
        return (part == .append ? content.next : content.previous) == nil ? nil : part
    }

    /// What a retry begins; `nil` for nothing.
    var retry: Part? {
        if let refresh = [Part.refresh, .refreshAll].first(where: failed.contains) { return refresh }
        return [Part.append, .prepend].first(where: failed.contains).flatMap(wish)
    }

    /// What is under way comes to its end; the server fails its request number `failure`.
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
            content.prepend(content.previous ?? 0, of: server, rules)
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
        var index = content.pages.first?.index
        for number in 0..<max(1, content.pages.count) {
            guard failure != number, !fresh.isDead else {
                failed.insert(.refreshAll)
                return
            }
            fresh.append(index ?? 0, of: server, rules)
            index = fresh.next
            if index == nil { break }
        }
        replaceContent { content, _ in content = fresh }
    }

    private mutating func replaceContent(_ fill: (inout Content, ModelRules) -> Void) {
        content = Content()
        fill(&content, rules)
        failed = []
    }
}
