/// The state of one side of a list: of its refresh, its next page, or its previous page.
public enum PageLoadState: Sendable {
    /// No page is loading, and there may be one to load.
    case idle
    /// A page is loading.
    case loading
    /// The last load has failed; ``APIManager/retry()`` loads the page again.
    case failed(APIError)
    /// The list has no more pages on this side; never the state of a refresh.
    case end

    /// Whether a page is loading.
    public var isLoading: Bool {
        if case .loading = self { true } else { false }
    }

    var isIdle: Bool {
        if case .idle = self { true } else { false }
    }

    /// The error of the last load, if it has failed.
    public var error: APIError? {
        if case .failed(let error) = self { error } else { nil }
    }

    /// Whether the list has no more pages on this side.
    public var isEnd: Bool {
        if case .end = self { true } else { false }
    }
}
