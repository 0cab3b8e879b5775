public import Observation

/// Several requests with one ending: an ``APIBatch`` or an ``APIChain``.
///
/// A group runs once, and ends once: in one method of its delegate, and for every caller of ``run()``. The delegates of its
/// requests are not notified. A running group retains itself and its requests; when it has ended it releases the requests and
/// the closures that create them, and only the ``APIOutcome``s remain.
@MainActor @Observable public class APIGroup {
    typealias Step = @MainActor () async throws(APIError) -> Void

    /// Receives the ending of the group.
    ///
    /// Not retained.
    @ObservationIgnored public weak var delegate: (any APIGroupDelegate)?
    /// How the group has ended; `nil` until then, and `cancelled` if it was cancelled.
    public private(set) var result: Result<Void, APIError>?
    /// The number of its requests that have ended: succeeded, failed or cancelled.
    public private(set) var finishedCount = 0
    /// The number of its requests.
    public private(set) var count = 0

    @ObservationIgnored private var steps: [Step] = []
    private var task: Task<Void, Never>?

    init(delegate: (any APIGroupDelegate)?) {
        self.delegate = delegate
    }

    /// Whether the group has begun and not ended.
    public var isRunning: Bool { task != nil }

    /// Begins the group; the requests begin after this has returned.
    ///
    /// Does nothing if the group has begun.
    public func start() {
        guard task == nil, result == nil else { return }
        task = Task { await end(with: outcome()) }
    }

    /// Begins the group, unless it has begun, and waits for its ending; cancelling the task cancels the group.
    ///
    /// - Throws: The group's error; `cancelled` when it was cancelled.
    public func run() async throws(APIError) {
        start()
        if let task {
            await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                task.cancel()
            }
        }
        try result?.get()
    }

    /// Cancels every request that has not ended; the group ends as cancelled.
    ///
    /// Does nothing if the group does not run. After it has returned, neither success nor failure is delivered.
    public func cancel() {
        task?.cancel()
    }

    /// Performs the steps; an error is the group's failure.
    func perform(_ steps: [Step]) async throws(APIError) {}

    /// Adds a step; traps if the group has begun.
    func append(_ step: @escaping Step) {
        precondition(task == nil && result == nil, "A request was added to a group that has begun")
        steps.append(step)
        count += 1
    }

    /// Records that a request has ended.
    func recordFinished() {
        finishedCount += 1
        guard !Task.isCancelled else { return }
        delegate?.group(self, didFinish: finishedCount, of: count)
    }

    private func outcome() async -> Result<Void, APIError> {
        do throws(APIError) {
            try await perform(steps)
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    private func end(with outcome: Result<Void, APIError>) {
        let ending = Task.isCancelled ? .failure(APIError(.cancelled)) : outcome
        steps = []
        task = nil
        result = ending
        switch ending {
        case .success: delegate?.groupDidSucceed(self)
        case .failure(let error) where error.type == .cancelled: delegate?.groupDidCancel(self)
        case .failure(let error): delegate?.group(self, didFailWith: error)
        }
    }
}

/// Receives the ending of a group of requests; usually the screen.
///
/// Not retained.
///
/// A group ends in exactly one of the three endings, on the main actor, after ``APIGroup/start()`` has returned.
@MainActor public protocol APIGroupDelegate: AnyObject {
    /// The group has succeeded; the answers are in its ``APIOutcome``s.
    func groupDidSucceed(_ group: APIGroup)

    /// The group has failed; the answers received before are in its ``APIOutcome``s.
    func group(_ group: APIGroup, didFailWith error: APIError)

    /// The group was cancelled. Does nothing by default.
    func groupDidCancel(_ group: APIGroup)

    /// A request has succeeded, failed or been cancelled; called before the group's ending. Does nothing by default.
    func group(_ group: APIGroup, didFinish count: Int, of total: Int)
}

extension APIGroupDelegate {
    /// Does nothing.
    public func groupDidCancel(_ group: APIGroup) {}
    /// Does nothing.
    public func group(_ group: APIGroup, didFinish count: Int, of total: Int) {}
}

extension APIGroup: CustomReflectable {
    /// An empty mirror, because answers may be secrets; `dump` prints the class alone.
    public nonisolated var customMirror: Mirror { Mirror(withoutChildren: self) }
}
