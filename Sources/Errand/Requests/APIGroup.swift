public import Observation

/// Several requests with one ending: an ``APIBatch`` or an ``APIChain``.
///
/// A group is given its requests, runs once, and ends once: in one method of its delegate, and at everybody who awaits
/// ``run()``. The requests' own delegates hear nothing. A group that runs keeps itself and its requests alive; when it has
/// ended it lets go of the requests and of everything that was to make one, and only the ``APIOutcome``s stay.
@MainActor @Observable public class APIGroup {
    typealias Step = @MainActor () async throws(APIError) -> Void

    /// Hears how the group ends.
    ///
    /// Not retained.
    @ObservationIgnored public weak var delegate: (any APIGroupDelegate)?
    /// How the group has ended; `nil` until it has, and `cancelled` where it was cancelled.
    public private(set) var result: Result<Void, APIError>?
    /// How many of its requests have ended, in whatever way.
    public private(set) var finishedCount = 0
    /// How many requests there are.
    public private(set) var count = 0

    @ObservationIgnored private var steps: [Step] = []
    private var task: Task<Void, Never>?

    init(delegate: (any APIGroupDelegate)?) {
        self.delegate = delegate
    }

    /// Whether the group has begun and not ended.
    public var isRunning: Bool { task != nil }

    /// Begins, and returns; the requests begin in a moment.
    ///
    /// A group that has begun already goes on as it was.
    public func start() {
        guard task == nil, result == nil else { return }
        task = Task { await end(with: outcome()) }
    }

    /// Begins, if that has not happened yet, and waits for the ending; cancelling the task cancels the group.
    ///
    /// - Throws: Why the group failed; `cancelled` when it was cancelled.
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
    /// A no-op where nothing runs. When this returns, neither success nor failure will be told any more.
    public func cancel() {
        task?.cancel()
    }

    /// Does the steps; an error is the group's failure.
    func perform(_ steps: [Step]) async throws(APIError) {}

    /// Enters a step; adding one to a group that has begun is a programming error, and traps.
    func enter(_ step: @escaping Step) {
        precondition(task == nil && result == nil, "A request was added to a group that has begun")
        steps.append(step)
        count += 1
    }

    /// Notes that a request has ended.
    func noteFinished() {
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

/// Hears how a group of requests ends; usually the screen.
///
/// Not retained.
///
/// A group ends in exactly one of the three endings, on the main actor, never before ``APIGroup/start()`` has returned.
@MainActor public protocol APIGroupDelegate: AnyObject {
    /// The group has succeeded; the answers are in its ``APIOutcome``s.
    func groupDidSucceed(_ group: APIGroup)

    /// The group has failed; what has come is in its ``APIOutcome``s.
    func group(_ group: APIGroup, didFailWith error: APIError)

    /// The group was cancelled. Does nothing by default.
    func groupDidCancel(_ group: APIGroup)

    /// One more request has ended, in whatever way; called before the group's ending. Does nothing by default.
    func group(_ group: APIGroup, didFinish count: Int, of total: Int)
}

extension APIGroupDelegate {
    /// Does nothing.
    public func groupDidCancel(_ group: APIGroup) {}
    /// Does nothing.
    public func group(_ group: APIGroup, didFinish count: Int, of total: Int) {}
}

extension APIGroup: CustomReflectable {
    /// Nothing, because answers may be secrets; `dump` prints the class alone.
    public nonisolated var customMirror: Mirror { Mirror(withoutChildren: self) }
}
