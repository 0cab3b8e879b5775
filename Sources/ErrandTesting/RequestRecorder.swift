public import Errand

/// A screen for tests: delegate and param source in one, whose endings can be awaited.
@MainActor public final class RequestRecorder: APIManagerParamSource, APIManagerCallbackDelegate {
    /// How a load has ended.
    public enum Event: Equatable, Sendable {
        /// With an answer.
        case success
        /// With an error of this type; the error itself is in ``RequestRecorder/errors``.
        case failure(APIErrorType)
        /// By a cancel.
        case cancel
    }

    /// The parameters of every load.
    public var params: APIParams?
    /// Called inside each delegate method.
    public var onEvent: (@MainActor (BaseAPIRequest, Event) -> Void)?
    /// Called whenever parameters are asked for.
    public var onParams: (@MainActor (BaseAPIRequest) -> Void)?
    /// Adds the files of an upload.
    public var parts: (@MainActor (inout MultipartForm) -> Void)?
    /// All endings, in their order.
    public private(set) var events: [Event] = []
    /// The errors of all failures, in their order.
    public private(set) var errors: [APIError] = []
    /// All progress that was reported.
    public private(set) var progress: [TransferProgress] = []
    private let inbox = Inbox<Event>()

    /// Creates a screen.
    ///
    /// - Parameter params: The parameters of every load.
    public init(params: APIParams? = nil) {
        self.params = params
    }

    /// The next ending that nobody has asked for yet; waits for it, and gives up with `nil` when the task is cancelled.
    ///
    /// Several tasks may wait; each gets an ending of its own, first come, first served.
    public func ending() async -> Event? {
        await inbox.next()
    }

    /// The next `count` endings; fewer when the task is cancelled.
    public func endings(_ count: Int) async -> [Event] {
        var endings: [Event] = []
        while endings.count < count, let next = await ending() { endings.append(next) }
        return endings
    }

    /// The next endings, as many as there are requests; fewer when the task is cancelled.
    ///
    /// Keeps the requests until then. An optimized build may otherwise release a local array of them after its last use,
    /// which cancels their loads without an ending.
    public func endings(of requests: [BaseAPIRequest]) async -> [Event] {
        let endings = await endings(requests.count)
        withExtendedLifetime(requests) {}
        return endings
    }

    /// Gives ``params``.
    public func params(for request: BaseAPIRequest) -> APIParams? {
        MainActor.assertIsolated()
        onParams?(request)
        return params
    }

    /// Adds ``parts``.
    public func appendParts(to form: inout MultipartForm, for request: BaseAPIRequest) {
        parts?(&form)
    }

    /// Records a success.
    public func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        record(.success, request)
    }

    /// Records a failure.
    public func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) {
        errors.append(error)
        record(.failure(error.type), request)
    }

    /// Records a cancel.
    public func managerCallAPIDidCancel(_ request: BaseAPIRequest) {
        record(.cancel, request)
    }

    /// Records progress.
    public func managerCallAPI(_ request: BaseAPIRequest, didMake progress: TransferProgress) {
        self.progress.append(progress)
    }

    private func record(_ event: Event, _ request: BaseAPIRequest) {
        MainActor.assertIsolated()
        events.append(event)
        onEvent?(request, event)
        inbox.put(event)
    }
}
