public import Observation

/// Several requests with one ending: an ``APIBatch`` or an ``APIChain``.
///
/// A group runs once and ends once: it notifies one method of its delegate, and every call of ``run()`` returns or throws. The
/// delegates of its requests are not notified of their endings.
///
/// If a group that ``start(indicator:message:)`` began fails, it calls the ``ErrorPresenter`` of one request, once, before its
/// delegate. A batch presents the first failure of a request that presents errors; a chain presents the failure that ended it, if
/// that is the failure of a request, or of what recovers from it. A group that only ``run()`` began throws its error instead.
///
/// A running group retains itself and its requests. When it has ended, it releases the requests and the closures that create
/// them; only the ``APIOutcome``s remain. If its delegate is released while requests are left, the group is cancelled when the
/// next of them ends, or would begin; not if somebody waits for it in ``run()``.
///
/// A group is also cancelled by a logout, ``APIProxy/switchAccount(of:to:)`` or ``APIProxy/cancelAllRequests()`` since it began,
/// even if none of its requests was under way then; not if a closure that creates a request of it makes the change, or if the
/// group has since begun a request of its own with ``BaseAPIRequest/isLoginRequest``.
@MainActor @Observable public class APIGroup {
    typealias Step = @MainActor (APIGroup) async throws(APIError) -> Void

    /// Receives the ending of the group.
    ///
    /// Not retained.
    @ObservationIgnored public weak var delegate: (any APIGroupDelegate)? { didSet { hasDelegate = delegate != nil } }
    /// How the group ended: `nil` until it has ended, `cancelled` if it was cancelled.
    public private(set) var result: Result<Void, APIError>?
    /// The number of requests of the group that have succeeded, failed, or been cancelled.
    public private(set) var finishedCount = 0
    /// The number of requests in the group.
    public private(set) var count = 0

    @ObservationIgnored private(set) var steps: [Step] = []
    private var task: Task<Void, Never>?
    // Also when it has been released.
    @ObservationIgnored private var hasDelegate: Bool
    @ObservationIgnored private var isAwaited = false
    // One of each login.
    @ObservationIgnored private var sessions: [GroupSession] = []
    @ObservationIgnored private var begunAt = RequestID.newest
    private nonisolated let queues = Lock<[RequestQueue]>([])
    // Of its indicators.
    @ObservationIgnored private let id = RequestID.next()
    // The error to present.
    @ObservationIgnored private var failure: (error: APIError, present: (APIError) -> Void)?
    @ObservationIgnored private var presentsErrors = false

    init(delegate: (any APIGroupDelegate)?) {
        hasDelegate = delegate != nil
        self.delegate = delegate
    }

    /// Whether the group has begun and has not ended.
    public var isRunning: Bool { task != nil }

    /// Begins the group; the requests begin after this has returned.
    ///
    /// If ``run()`` has already begun the group, this begins nothing, but lets the group present its error. Does nothing after
    /// the ending.
    ///
    /// - Parameters:
    ///   - indicator: Shown until the group has ended, and hidden before the delegate receives the ending; none by default.
    ///   - message: The text of the indicator.
    public func start(indicator: (any LoadingIndicator)? = nil, message: String? = nil) {
        guard result == nil else { return }
        presentsErrors = true
        begin()
        if let indicator { SharedIndicators.show(indicator, message, of: id) }
    }

    /// Begins the group, unless it has begun, and waits for its ending; cancelling the task cancels the group.
    ///
    /// - Throws: The group's error; `cancelled` when it was cancelled, or when the user has signed out before this call continues.
    public func run() async throws(APIError) {
        isAwaited = true
        begin()
        if let task {
            await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                stoppingQueues { task.cancel() }
            }
            // The user may have signed out before this call goes on.
            if result?.error == nil, sessions.contains(where: \.isSignedOut) { throw APIError(.cancelled) }
        }
        try result?.get()
    }

    /// Cancels every request that has not ended; the group ends as cancelled.
    ///
    /// Does nothing if the group does not run. After it has returned, neither success nor failure is delivered.
    public func cancel() { stoppingQueues { task?.cancel() } }

    /// A task cancels its loads one after the other: none that waits is to be sent in the place of another.
    nonisolated func stoppingQueues(_ cancel: () -> Void) {
        let queues = queues.withLock(\.self)
        for queue in queues { queue.stop() }
        cancel()
        for queue in queues { queue.endStop() }
    }

    func perform() async throws(APIError) {}

    func append(_ step: @escaping Step, whileRunning: Bool) {
        precondition(result == nil, "A request was added to a group that has ended")
        precondition(task == nil || whileRunning, "A request was added to a batch that has begun")
        steps.append(step)
        count += 1
    }

    func takeStep() -> Step { steps.removeFirst() }

    /// Before the group goes on, cancels one that nobody waits for, and one whose session has ended.
    func cancelIfObsolete() { if isAbandoned || sessions.contains(where: \.hasEnded) { cancel() } }

    /// What `make` changes is what its request is for; what was changed before it, since the group began, is not.
    func request<Manager: APIManager>(_ make: () throws(APIError) -> Manager) throws(APIError) -> Manager {
        let (begin, now) = (begunAt, RequestID.newest)
        let made = Result { () throws(APIError) in try make() }
        if RequestID.newestChange > now {
            sessions.removeAll(where: \.hasEnded)
            begunAt = .newest
        }
        let request = try made.get()
        let (session, queue) = (GroupSession(of: request), request.proxy.queue)
        queues.withLock { queues in if !queues.contains(where: { $0 === queue }) { queues.append(queue) } }
        if let index = sessions.firstIndex(where: session.isSame) {
            // What changes between a sign-in and the next request is what that request is for.
            if session.isSigningIn || sessions[index].isSigningIn { sessions[index] = session }
        } else {
            if session.hasEnded(after: begin, until: now) { cancel() }
            sessions.append(session)
        }
        return request
    }

    func recordFinished() {
        finishedCount += 1
        if sessions.contains(where: \.hasEnded) { cancel() }
        guard !Task.isCancelled else { return }
        delegate?.group(self, didFinish: finishedCount, of: count)
        if finishedCount < count, isAbandoned { cancel() }
    }

    private var isAbandoned: Bool { hasDelegate && delegate == nil && !isAwaited }

    /// Keeps the first failure of a request that presents errors.
    func recordFailure(_ error: APIError, _ present: @escaping (APIError) -> Void) {
        guard failure == nil, result == nil, task?.isCancelled == false else { return }
        failure = (error, present)
    }

    func replaceFailure(by error: APIError?) {
        failure = error.flatMap { error in failure.map { (error, $0.present) } }
    }

    private func begin() {
        guard task == nil, result == nil else { return }
        begunAt = .newest
        task = Task {
            do throws(APIError) {
                try await perform()
                end(with: .success(()))
            } catch {
                end(with: .failure(error))
            }
        }
    }

    private func end(with outcome: Result<Void, APIError>) {
        steps = []
        // Since the last of its requests has ended.
        if sessions.contains(where: \.hasEnded) { cancel() }
        // Those who observe it may cancel the group.
        let task = task
        self.task = nil
        let ending = task?.isCancelled == true ? .failure(APIError(.cancelled)) : outcome
        result = ending
        let failure = exchange(&failure, with: nil)
        SharedIndicators.hideAll(of: id)
        switch ending.ending {
        case .success: delegate?.groupDidSucceed(self)
        case .cancelled: delegate?.groupDidCancel(self)
        case .failure(let error):
            if presentsErrors, let failure { failure.present(failure.error) }
            delegate?.group(self, didFailWith: error)
        }
    }
}

/// Where a group has begun a request, and when.
@MainActor private struct GroupSession {
    let isSigningIn: Bool
    private let proxy: APIProxy
    private let login: LoginSession?
    private let begunAt = RequestID.newest
    private let isInRelogin = APIProxy.isInRelogin

    init(of request: BaseAPIRequest) {
        (proxy, login) = (request.proxy, request.serviceForNewLoad?.login)
        isSigningIn = request.isLoginRequest
    }

    func isSame(_ other: Self) -> Bool { proxy === other.proxy && login === other.login }

    /// Whether all of its loads have been cancelled since.
    var hasEnded: Bool { hasEnded(after: begunAt, until: .newest) }
    var isSignedOut: Bool { !isSigningIn && login?.hasEnded(since: begunAt) == true }

    func hasEnded(after begin: RequestID, until end: RequestID) -> Bool {
        let times = [login?.endedAt, isInRelogin ? nil : proxy.loads.cancelledAt]
        return !isSigningIn && times.contains { $0.map { $0 > begin && $0 <= end } == true }
    }
}

extension APIGroup: CustomReflectable {
    /// An empty mirror, because responses may be secrets; `dump` prints the class alone.
    public nonisolated var customMirror: Mirror { Mirror(withoutChildren: self) }
}

/// Receives the ending of a group of requests; usually the screen.
///
/// Not retained.
///
/// A group ends in exactly one of the three endings, on the main actor, after ``APIGroup/start(indicator:message:)`` has returned.
@MainActor public protocol APIGroupDelegate: AnyObject {
    /// The group has succeeded; the responses are in its ``APIOutcome``s, except for requests that were cancelled alone.
    func groupDidSucceed(_ group: APIGroup)

    /// The group has failed; the responses received before are in its ``APIOutcome``s.
    func group(_ group: APIGroup, didFailWith error: APIError)

    /// The group was cancelled, or each of its requests. Does nothing by default.
    func groupDidCancel(_ group: APIGroup)

    /// A request has succeeded, failed or been cancelled alone; called before the group's ending. Does nothing by default.
    func group(_ group: APIGroup, didFinish count: Int, of total: Int)
}

extension APIGroupDelegate {
    /// Does nothing.
    public func groupDidCancel(_ group: APIGroup) {}
    /// Does nothing.
    public func group(_ group: APIGroup, didFinish count: Int, of total: Int) {}
}
