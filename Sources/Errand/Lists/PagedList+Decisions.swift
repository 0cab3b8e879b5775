/// What to load and what an answer means, which changes nothing.
extension PagedList {
    /// Returns how to obtain a part of the list now.
    func decision(for part: ListPart, isActive: (RequestID) -> Bool) -> PageLoadDecision {
        if let pending, isActive(pending.id) { return .join(pending.id) }
        // A refresh of all pages is between two of its pages.
        if let followUp { return .begin(followUp) }
        if loaded.pageCount == 0 { return .begin(.first) }
        let position = part == .previous ? loaded.previous : loaded.next
        return position == nil ? .skip : .begin(part)
    }

    /// Returns the parameters of a part: a page that is added to the list has those of the loaded pages.
    func params(of part: ListPart) -> LoadParams {
        part == .first || loaded.pageCount == 0 ? reloadParams : loadedParams
    }

    /// The part to load again after a failure: a refresh before the next page, and that before the previous one.
    var failedPart: ListPart? {
        if refreshState.error != nil { return refreshesAll ? .all : .first }
        if appendState.error != nil { return .next }
        return prependState.error == nil ? nil : .previous
    }

    /// Returns whether the list ends, instead of failing, with this error of a load.
    func ends(with error: APIError, of id: RequestID) -> Bool {
        guard let pending, pending.id == id, error.type == .http, error.status == 404 else { return false }
        return switch pending.part {
        case .next, .prefetch: loaded.endsWithoutNext
        case .remaining: staged.endsWithoutNext
        case .first, .all, .previous: false
        }
    }

    /// Returns why a part must not be requested, because of the pages received so far.
    func blockedReason(for part: ListPart) -> String? {
        switch part {
        case .next, .prefetch: loaded.blockedReason
        case .remaining: staged.blockedReason
        case .first, .all, .previous: nil
        }
    }

    func position(of part: ListPart) -> PagePosition? {
        switch part {
        case .first: nil
        case .all: loaded.firstPosition
        case .remaining: staged.next
        case .next, .prefetch: loaded.next
        case .previous: loaded.previous
        }
    }
}

/// The page of a list that is loading.
struct PendingPage {
    let id: RequestID
    var part: ListPart
    var position: PagePosition
    let params: LoadParams
    /// Whether the list has been edited since the page was requested, and its answer may not have the edit.
    var isOutdated = false

    /// Returns whether the page has to be requested again after an answer with this error.
    func isOutdated(after error: APIError?) -> Bool {
        // An edit may have moved the position to where the server has a page.
        isOutdated && (error == nil || error?.type == .http && error?.status == 404)
    }
}
