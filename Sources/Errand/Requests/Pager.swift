/// A list of pages that the loads of one request fill; a request and its loads use it through this protocol alone.
@MainActor protocol Pager: AnyObject {
    var failedPart: ListPart? { get }
    var hasPages: Bool { get }
    /// Whether the pages come from the network: those of a reload do, the following ones, and those after an edit; a first page may
    /// still be a stored one without a response.
    var isReloading: Bool { get set }
    var lastPageLoad: RequestID? { get }
    /// When the first of the loaded pages was received; `nil` without pages.
    var loadedSince: Duration? { get }
    /// Whether a load is pending that replaces the list, alone or with others.
    var isRefreshing: Bool { get }
    var followUp: ListPart? { get }

    func input(of part: ListPart) -> LoadInput
    /// The path of the pages that there are; `nil` for the first one, and for pages of another account or environment.
    func path(of part: ListPart, in session: @autoclosure () -> UserSession) -> String?
    func decision(for part: ListPart) -> PageLoadDecision

    /// Returns what requests the page.
    func loadWillBegin(
        _ id: RequestID,
        of part: ListPart,
        input: LoadInput,
        from service: APIService?
    ) throws(APIError) -> RequestDraft.Addition

    /// Changes nothing.
    func firstPage() throws(APIError) -> RequestDraft.Addition

    /// Returns what requests the page again within the same load, if edits of the list have made its
    /// response out of date; `nil` when the response counts.
    func additionToRepeat(_ id: RequestID, after error: APIError?) throws(APIError) -> RequestDraft.Addition?

    /// Called with each response, before the app changes it.
    func didReceive(_ content: any Sendable, in response: APIResponse, of id: RequestID)

    func endsList(with error: APIError, of id: RequestID) -> Bool

    /// Returns what notifies the list's observer; `nil` when nothing has changed for it.
    func loadDidEnd(
        _ id: RequestID,
        with result: Result<any Sendable, APIError>,
        response: APIResponse?
    ) -> (() -> Void)?

    /// A load is not needed: the pages that there are, are those that it would have loaded.
    func keepLoadedPages()
}

/// The part of a list that a load requests.
enum ListPart {
    /// Replaces the list.
    case first
    /// The first of all loaded pages, which together replace the list.
    case all
    /// Another of all loaded pages.
    case remaining
    case next
    /// As `next`, because a row near the end has appeared.
    case prefetch
    case previous
}

/// The outcome of a load of a page that is not there, because the list ends in front of it.
struct EndOfList: Sendable {
    let error: APIError
}

/// How to obtain a part of a list.
enum PageLoadDecision {
    case join(RequestID)
    case begin(ListPart)
    /// There is no such page.
    case skip
}
