/// The page of a list that is loading.
struct PendingPage {
    let id: RequestID
    var part: ListPart
    var position: PagePosition
    let params: LoadParams
    /// Whether the list has been edited since the page was requested, and its answer may not have the edit.
    var isOutdated = false
    /// How often the page has been requested again for that reason.
    var repeatCount = 0
    /// Requests a page within the same load; `nil` until the load is sent.
    var sendAgain: ((RequestDraft.Addition) -> Void)?

    /// Whether the page may be requested again: not for ever in a list that is edited more often than the server answers.
    ///
    /// A refresh is repeated less often; see ``RefreshEdits``.
    var allowsRepeat: Bool { repeatCount < 10 }

    /// Returns whether the page has to be requested again after an answer with this error.
    func isOutdated(after error: APIError?) -> Bool {
        guard isOutdated, allowsRepeat, sendAgain != nil else { return false }
        // An edit may have moved the position to where the server has a page.
        return error == nil || error?.type == .http && error?.status == 404
    }
}
