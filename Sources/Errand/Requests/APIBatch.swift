/// Requests that are loaded concurrently, with one ending.
///
/// ```swift
/// let batch = APIBatch(delegate: self)
/// let goods = batch.add(GoodsListRequest())
/// let cart = batch.add(CartRequest())
/// batch.start()                                // later: groupDidSucceed, and try goods.value
/// ```
///
/// Without a delegate, `try await APIBatch.values(of: goods, cart)` loads and returns all responses, and ``APIGroup/run()`` waits
/// until each outcome has its ``APIOutcome/result``. Cancelling a single request does not fail the batch; the other requests
/// continue.
public final class APIBatch: APIGroup {
    /// What happens to the other requests when one fails.
    public enum FailurePolicy: Sendable {
        /// They continue; the batch fails when all have ended, with the first error.
        case waitForAll
        /// They are cancelled; the responses received before are kept.
        case failFast
    }

    private let failurePolicy: FailurePolicy

    /// Creates a batch without requests.
    ///
    /// - Parameters:
    ///   - failurePolicy: What happens to the other requests when one fails.
    ///   - delegate: Receives the ending of the batch; not retained.
    public init(_ failurePolicy: FailurePolicy = .waitForAll, delegate: (any APIGroupDelegate)? = nil) {
        self.failurePolicy = failurePolicy
        super.init(delegate: delegate)
    }

    /// Adds a request; traps if the batch has begun.
    ///
    /// - Returns: The request's outcome.
    @discardableResult
    public func add<Manager: APIManager>(_ request: Manager) -> APIOutcome<Manager.Response> {
        add(request) { $0 }
    }

    /// Adds requests of any classes; traps if the batch has begun.
    ///
    /// - Returns: The outcomes in the order of the requests. Each outcome's value is the ``APIManager/Response`` of its request,
    ///   which the request stores as well.
    @discardableResult
    public func add(_ requests: [any APIManager]) -> [APIOutcome<any Sendable>] {
        requests.map { addErased($0) }
    }

    private func addErased(_ request: some APIManager) -> APIOutcome<any Sendable> {
        add(request) { $0 }
    }

    private func add<Manager: APIManager, Response>(
        _ request: Manager,
        response: @escaping @MainActor (Manager.Response) -> Response
    ) -> APIOutcome<Response> {
        let outcome = APIOutcome<Response>()
        let step: Step = { group throws(APIError) in
            try await outcome.load(in: group, { request }, response: response)
        }
        append(step, whileRunning: false)
        return outcome
    }

    override func perform() async throws(APIError) {
        let steps = steps
        let failure = await withTaskGroup(of: APIError?.self) { group in
            for step in steps {
                // A task of the main actor: such tasks begin in their order.
                let operation: @MainActor @Sendable () async -> APIError? = {
                    do throws(APIError) { try await step(self) } catch { return error }
                    return nil
                }
                group.addTask(operation: operation)
            }
            var (failure, hasSucceeded) = (APIError?.none, steps.isEmpty)
            for await error in group {
                recordFinished()
                if error == nil { hasSucceeded = true }
                guard let error, error.type != .cancelled, failure == nil else { continue }
                failure = error
                if failurePolicy == .failFast { stoppingQueues { group.cancelAll() } }
            }
            // After a logout, for example.
            return failure ?? (hasSucceeded ? nil : APIError(.cancelled))
        }
        if let failure { throw failure }
    }
}

extension APIBatch {
    /// Loads several requests concurrently and returns their responses, in the order of the requests.
    ///
    /// - Throws: The first failure, after the other requests have been cancelled; `cancelled` when the task or a request was
    ///   cancelled.
    public static func values<each Manager: APIManager>(
        of request: repeat each Manager
    ) async throws(APIError) -> (repeat (each Manager).Response) {
        let batch = APIBatch(.failFast)
        let outcome = (repeat batch.add(each request))
        try await batch.run()
        return (repeat try (each outcome).value)
    }

    /// Loads any number of requests of one class concurrently and returns their responses, in the order of the requests.
    ///
    /// - Throws: The first failure, after the other requests have been cancelled; `cancelled` when the task or a request was
    ///   cancelled.
    public static func values<Manager: APIManager>(of requests: [Manager]) async throws(APIError) -> [Manager.Response]
    {
        let batch = APIBatch(.failFast)
        let outcomes = requests.map { batch.add($0) }
        try await batch.run()
        return try outcomes.map { (outcome) throws(APIError) in try outcome.value }
    }
}
