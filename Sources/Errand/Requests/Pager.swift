/// A list of pages that the loads of one request fill; a request and its loads use it through this protocol alone.
@MainActor protocol Pager: AnyObject {
    /// The part to load again after a failure; `nil` when nothing has failed.
    var failedPart: ListPart? { get }

    /// Whether there are loaded pages.
    var hasPages: Bool { get }

    /// The load that has added the last page of the list; `nil` when that is unknown.
    var lastPageLoad: RequestID? { get }

    /// The part to load next, because of the pages received so far; `nil` for none.
    var followUp: ListPart? { get }

    /// Removes all pages.
    func removeAllPages()

    /// Returns the parameters of a part of the list, unless the call that loads it specifies others.
    func input(of part: ListPart) -> LoadInput

    /// Returns how to obtain a part of the list now.
    func decision(for part: ListPart) -> PageLoadDecision

    /// Prepares the list for a load.
    ///
    /// - Returns: What requests the page.
    /// - Throws: `invalidRequest` or `decoding`, when the page cannot be requested.
    func loadWillBegin(
        _ id: RequestID,
        of part: ListPart,
        input: LoadInput,
        from service: APIService?
    ) throws(APIError) -> RequestDraft.Addition

    /// Returns what requests the first page, and changes nothing.
    func firstPage() throws(APIError) -> RequestDraft.Addition

    /// Records that the page of a load has to be requested again, if the list has been edited since, so that its response is out
    /// of date.
    ///
    /// - Returns: What requests the page within the same load, which has not ended then; `nil` when the response counts.
    /// - Throws: `invalidResponse` or `invalidRequest`, when the page cannot be requested again.
    func additionToRepeat(_ id: RequestID, after error: APIError?) throws(APIError) -> RequestDraft.Addition?

    /// Returns whether the list ends, instead of failing, with this error of a load.
    func endsList(with error: APIError, of id: RequestID) -> Bool

    /// Updates the list with the result of a load.
    ///
    /// - Returns: What notifies the list's observer; `nil` when nothing has changed for it.
    func loadDidEnd(
        _ id: RequestID,
        with result: Result<any Sendable, APIError>,
        response: APIResponse?
    ) -> (() -> Void)?
}

/// The part of a list that a load requests.
enum ListPart {
    /// The first page, which replaces the list.
    case first
    /// The first of all loaded pages, which together replace the list.
    case all
    /// Another of all loaded pages.
    case remaining
    /// The page after the loaded ones.
    case next
    /// The page after the loaded ones, requested because a row near the end has appeared.
    case prefetch
    /// The page before the loaded ones.
    case previous
}

/// The outcome of a load of a page that is not there, because the list ends in front of it.
struct EndOfList: Sendable {
    /// That of the server's response.
    let error: APIError
}

/// How to obtain a part of a list.
enum PageLoadDecision {
    /// Wait for this load, which runs already.
    case join(RequestID)
    /// Begin a load.
    case begin(ListPart)
    /// Do nothing: there is no such page.
    case skip
}
