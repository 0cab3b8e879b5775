public import Errand

/// A screen for tests: a delegate and param source that records the endings of loads and lets a test wait for them.
@MainActor public final class RequestRecorder: APIManagerParamSource, APIManagerCallbackDelegate {
    /// How a load ended.
    public enum Event: Equatable, Sendable {
        /// The load succeeded.
        case success
        /// The load failed with an error of this type; the error itself is in ``RequestRecorder/errors``.
        case failure(APIErrorType)
        /// The load was cancelled.
        case cancelled
    }

    /// The parameters of every load.
    public var params: APIParams?
    /// Called inside the delegate method of each ending, after the ending is in ``events``.
    public var onEvent: (@MainActor (BaseAPIRequest, Event) -> Void)?
    /// Called inside ``params(for:)``, before it returns.
    public var onParams: (@MainActor (BaseAPIRequest) -> Void)?
    /// Adds the parts of a multipart form; `nil`, the default, adds none.
    public var parts: (@MainActor (inout MultipartForm) -> Void)?
    /// All endings, in the order in which they were delivered.
    public private(set) var events: [Event] = []
    /// The errors of all failures, in the order in which they were delivered.
    public private(set) var errors: [APIError] = []
    /// All reported progress.
    public private(set) var progress: [TransferProgress] = []
    private let inbox = Inbox<Event>()

    /// Creates a recorder.
    ///
    /// - Parameter params: The parameters of every load; none by default.
    public init(params: APIParams? = nil) {
        self.params = params
    }

    /// Waits for the next ending that this method has not returned yet; returns `nil` if the task is cancelled before.
    ///
    /// Several tasks may wait; each receives a different ending, first in, first out.
    public func ending() async -> Event? {
        await inbox.next()
    }

    /// Waits for the next `count` endings; returns fewer when the task is cancelled.
    public func endings(_ count: Int) async -> [Event] {
        var endings: [Event] = []
        while endings.count < count, let next = await ending() { endings.append(next) }
        return endings
    }

    /// Waits for as many endings as there are requests; returns fewer when the task is cancelled.
    ///
    /// Retains the requests until it returns. An optimized build may otherwise release a local array of them after its
    /// last use, which cancels their loads without an ending.
    public func endings(of requests: [BaseAPIRequest]) async -> [Event] {
        let endings = await endings(requests.count)
        withExtendedLifetime(requests) {}
        return endings
    }

    /// Returns ``params``.
    public func params(for request: BaseAPIRequest) -> APIParams? {
        MainActor.assertIsolated()
        onParams?(request)
        return params
    }

    /// Calls ``parts``.
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
        record(.cancelled, request)
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

/// A queue of values: each is returned to one caller of ``next()``, first in, first out.
final class Inbox<Value: Sendable>: Sendable {
    private typealias Waiter = CheckedContinuation<Value?, Never>

    private struct State {
        var values: [Value] = []
        var waiters: [(number: Int, waiter: Waiter)] = []
    }

    private let state = Lock(State())

    func put(_ value: Value) {
        let waiter = state.withLock { state -> Waiter? in
            guard !state.waiters.isEmpty else {
                state.values.append(value)
                return nil
            }
            return state.waiters.removeFirst().waiter
        }
        waiter?.resume(returning: value)
    }

    /// Waits for the next value; returns `nil` when the task is cancelled before there is one.
    func next() async -> Value? {
        let number = WaiterNumber.next()
        return await withCancellableContinuation(ifCancelled: nil) { waiter in
            state.withLock { state in
                guard state.values.isEmpty else { return .some(state.values.removeFirst()) }
                state.waiters.append((number, waiter))
                return nil
            }
        } remove: {
            state.withLock { state in
                let index = state.waiters.firstIndex { $0.number == number }
                return index.map { state.waiters.remove(at: $0).waiter }
            }
        }
    }
}
