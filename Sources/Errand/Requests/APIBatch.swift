/// Requests that are loaded concurrently, with one ending.
///
/// ```swift
/// let batch = APIBatch(delegate: self)
/// let goods = batch.add(GoodsListRequest())
/// let cart = batch.add(CartRequest())
/// batch.start()                                // later: groupDidSucceed, and try goods.value
/// ```
///
/// Without a delegate, use `APIBatch.values(of:)` and `APIBatch.results(of:)`, for requests of several classes, an array of one
/// class, or an array of `any APIManager`. A request that is cancelled alone is not a failure of the batch: the others continue.
public final class APIBatch: APIGroup {
    /// What a failure of one request does to the others.
    public enum FailurePolicy: Sendable {
        /// They continue; the batch fails when all have ended, with the first error.
        case waitForAll
        /// They are cancelled; the answers received before are kept.
        case failFast
    }

    /// What a failure of one request does to the others.
    public let failurePolicy: FailurePolicy

    /// Creates a batch without requests.
    ///
    /// - Parameters:
    ///   - failurePolicy: What a failure of one request does to the others.
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
    /// - Returns: The outcomes in the order of the requests. Each answer is the ``APIManager/Response`` of a request, which has
    ///   it as well.
    @discardableResult
    public func add(_ requests: [any APIManager]) -> [APIOutcome<any Sendable>] {
        requests.map { addErased($0) }
    }

    private func addErased(_ request: some APIManager) -> APIOutcome<any Sendable> {
        add(request) { $0 }
    }

    private func add<Manager: APIManager, Answer>(
        _ request: Manager,
        answer: @escaping @MainActor (Manager.Response) -> Answer
    ) -> APIOutcome<Answer> {
        let outcome = APIOutcome<Answer>()
        append { group throws(APIError) in try await outcome.load(in: group, { request }, answer: answer) }
        return outcome
    }

    override func perform(_ steps: [Step]) async throws(APIError) {
        let failure = await withTaskGroup(of: APIError?.self) { group in
            for step in steps { group.addTask { await self.error(of: step) } }
            var failure: APIError?
            for await error in group {
                recordFinished()
                guard let error, error.type != .cancelled, failure == nil else { continue }
                failure = error
                if failurePolicy == .failFast { group.cancelAll() }
            }
            return failure
        }
        if let failure { throw failure }
    }

    private func error(of step: Step) async -> APIError? {
        do throws(APIError) {
            try await step(self)
            return nil
        } catch {
            return error
        }
    }
}

extension APIBatch {
    /// Loads several requests concurrently and returns their answers, in the order of the requests.
    ///
    /// - Throws: The first failure, after the other requests have been cancelled; `cancelled` when the task or a request was cancelled.
    public static func values<each Manager: APIManager>(
        of request: repeat each Manager
    ) async throws(APIError) -> (repeat (each Manager).Response) {
        let batch = APIBatch(.failFast)
        let outcome = (repeat batch.add(each request))
        try await batch.run()
        return (repeat try (each outcome).value)
    }

    /// Loads several requests concurrently and returns how each has ended, in the order of the requests.
    public static func results<each Manager: APIManager>(
        of request: repeat each Manager
    ) async -> (repeat Result<(each Manager).Response, APIError>) {
        let batch = APIBatch()
        let outcome = (repeat batch.add(each request))
        try? await batch.run()
        return (repeat (each outcome).result ?? .failure(APIError(.cancelled)))
    }

    /// Loads any number of requests of one class concurrently and returns their answers, in the order of the requests.
    ///
    /// - Throws: The first failure, after the other requests have been cancelled; `cancelled` when the task or a request was cancelled.
    public static func values<Manager: APIManager>(of requests: [Manager]) async throws(APIError) -> [Manager.Response]
    {
        try await values { batch in requests.map { batch.add($0) } }
    }

    /// Loads any number of requests of one class concurrently and returns how each has ended, in the order of the requests.
    public static func results<Manager: APIManager>(
        of requests: [Manager]
    ) async -> [Result<Manager.Response, APIError>] {
        await results { batch in requests.map { batch.add($0) } }
    }

    /// Loads requests of any classes concurrently and returns their answers, in the order of the requests.
    ///
    /// Each answer is a ``APIManager/Response`` of its request's class; the request has it as well.
    ///
    /// - Throws: The first failure, after the other requests have been cancelled; `cancelled` when the task or a request was cancelled.
    @_disfavoredOverload  // A literal of requests of one class is an array of that class.
    public static func values(of requests: [any APIManager]) async throws(APIError) -> [any Sendable] {
        try await values { batch in batch.add(requests) }
    }

    /// Loads requests of any classes concurrently and returns how each has ended, in the order of the requests.
    @_disfavoredOverload
    public static func results(of requests: [any APIManager]) async -> [Result<any Sendable, APIError>] {
        await results { batch in batch.add(requests) }
    }

    private static func values<Answer>(
        of add: (APIBatch) -> [APIOutcome<Answer>]
    ) async throws(APIError) -> [Answer] {
        let batch = APIBatch(.failFast)
        let outcomes = add(batch)
        try await batch.run()
        var values: [Answer] = []
        for outcome in outcomes { values.append(try outcome.value) }
        return values
    }

    private static func results<Answer>(
        of add: (APIBatch) -> [APIOutcome<Answer>]
    ) async -> [Result<Answer, APIError>] {
        let batch = APIBatch()
        let outcomes = add(batch)
        try? await batch.run()
        return outcomes.map { $0.result ?? .failure(APIError(.cancelled)) }
    }
}
