/// The states of a paged list and the rules between them; it knows nothing of requests.
///
/// Only the load that is named by `refreshing` or `appending` may change the list, so a page of an older generation, or of a
/// cancelled load, falls away by itself.
struct PagedList<Item> {
    private(set) var items: [Item] = []
    private(set) var refreshState = PageLoadState.idle
    private(set) var appendState = PageLoadState.idle
    private(set) var totalItems: Int?
    private(set) var next: PagePosition?
    private var appending: RequestID?
    private var refreshing: RequestID?
    private var position: PagePosition?
    private var seen: Set<AnyHashable> = []

    /// What a wish for the next page means now.
    var step: PageStep {
        if let loading = refreshing ?? appending { return .wait(for: loading) }
        guard !appendState.isEnd else { return .stop }
        return next == nil ? .refresh : .append
    }

    /// A load of the first page begins; an append that is under way counts no more.
    mutating func beginRefresh(_ id: RequestID, at start: PagePosition) {
        refreshing = id
        position = start
        refreshState = .loading
        guard appending != nil else { return }
        appending = nil
        appendState = .idle
    }

    /// A load of the next page begins.
    mutating func beginAppend(_ id: RequestID) {
        appending = id
        position = next
        appendState = .loading
    }

    /// A page has come.
    mutating func accept<Page: PageResponse>(
        _ page: Page,
        _ response: APIResponse,
        for id: RequestID,
        strategy: any PageStrategy,
        itemID: ((Item) -> AnyHashable)?
    ) where Page.Item == Item {
        guard let position, id == refreshing || id == appending else { return }
        if id == refreshing { clear() }
        let facts = PageFacts(
            position: position,
            itemCount: page.items.count,
            totalItems: page.totalItems,
            totalPages: page.totalPages,
            response: response
        )
        next = strategy.position(after: facts)
        totalItems = page.totalItems
        append(page.items, itemID)
        appending = nil
        appendState = next == nil ? .end : .idle
    }

    /// A page has not come; items and position stay as they are.
    mutating func fail(_ error: APIError, for id: RequestID) {
        let state = error.type == .cancelled ? PageLoadState.idle : .failed(error)
        if id == refreshing {
            refreshing = nil
            refreshState = state
        } else if id == appending {
            appending = nil
            appendState = state
        }
    }

    private mutating func clear() {
        items = []
        seen = []
        refreshing = nil
        refreshState = .idle
    }

    private mutating func append(_ page: [Item], _ itemID: ((Item) -> AnyHashable)?) {
        guard let itemID else {
            items += page
            return
        }
        items += page.filter { seen.insert(itemID($0)).inserted }
    }
}

/// What a wish for the next page of a list means.
enum PageStep {
    case wait(for: RequestID)
    case refresh
    case append
    case stop
}
