/// What one side of a list is doing: its refresh, its append, or its prepend.
public enum PageLoadState: Sendable {
    /// Nothing is under way.
    case idle
    /// A page is under way.
    case loading
    /// The last page asked for did not come; ``PageAPIRequest`` can retry it.
    case failed(APIError)
    /// The list has no further page on this side; never of a refresh.
    case end

    /// Whether a page is under way.
    public var isLoading: Bool {
        if case .loading = self { true } else { false }
    }

    /// Whether nothing is under way, nothing has failed, and there may be more.
    var isIdle: Bool {
        if case .idle = self { true } else { false }
    }

    /// Why the last page did not come, where it did not.
    public var error: APIError? {
        if case .failed(let error) = self { error } else { nil }
    }

    /// Whether the list has no further page.
    public var isEnd: Bool {
        if case .end = self { true } else { false }
    }
}
