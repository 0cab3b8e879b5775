/// What one side of a list is doing: its refresh, or its append.
public enum PageLoadState: Sendable {
    /// Nothing is under way.
    case idle
    /// A page is under way.
    case loading
    /// The last page asked for did not come; ``PageAPIRequest`` can retry it.
    case failed(APIError)
    /// The list has no further page; of an append only.
    case end

    /// Whether a page is under way.
    public var isLoading: Bool {
        if case .loading = self { true } else { false }
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
