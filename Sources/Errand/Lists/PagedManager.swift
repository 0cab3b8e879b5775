/// What ``PageAPIRequest`` adopts, so that its subclasses can load pages; there is nothing to adopt by hand.
@MainActor public protocol PagedManager: BaseAPIRequest {
    /// What the load of the first page is doing.
    var refreshState: PageLoadState { get }
    /// What the load of the next page is doing.
    var appendState: PageLoadState { get }
    /// Whether there is a page behind the loaded ones.
    var hasMore: Bool { get }
}

extension APIManager where Self: PagedManager {
    /// Loads the first page anew; its items replace the list when they have come.
    ///
    /// - Returns: The load's ID.
    @discardableResult
    public func reload() -> RequestID {
        cancelAllRequests()
        return begin()
    }

    /// Loads the page behind the loaded ones; the first page if there is none yet.
    ///
    /// Asking again while that page is under way sends nothing more.
    ///
    /// - Returns: The ID of the load that is under way now; `nil` at the end of the list.
    @discardableResult
    public func loadNextPage() -> RequestID? {
        switch pageStep {
        case .wait(let id): id
        case .refresh: reload()
        case .append: begin(at: .next)
        case .stop: nil
        }
    }

    /// Asks again for the page that did not come, the refresh before the append.
    ///
    /// - Returns: The load's ID; `nil` when nothing has failed.
    @discardableResult
    public func retry() -> RequestID? {
        if refreshState.error != nil { return reload() }
        return appendState.error == nil ? nil : loadNextPage()
    }
}
