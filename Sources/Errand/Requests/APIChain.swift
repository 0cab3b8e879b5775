/// Requests that are loaded one after the other; each can be created from the responses before it.
///
/// ```swift
/// let chain = APIChain(delegate: self)
/// let goods = chain.add(GoodsListRequest())
/// let details = chain.add { try DetailRequest(id: goods.value[0].id) }
/// chain.start()                                // later: groupDidSucceed, and try details.value
/// ```
///
/// The first failure ends the chain, unless the failed request has a `recover` closure; later requests are not created. Plain
/// `async` code needs no chain: `try await DetailRequest(id: GoodsListRequest().value()[0].id).value()`.
public final class APIChain: APIGroup {
    /// Creates a chain without requests.
    ///
    /// - Parameter delegate: Receives the ending of the chain; not retained.
    public override init(delegate: (any APIGroupDelegate)? = nil) { super.init(delegate: delegate) }

    /// Adds a request; traps if the chain has ended.
    ///
    /// - Returns: The request's outcome.
    @discardableResult
    public func add<Manager: APIManager>(_ request: Manager) -> APIOutcome<Manager.Response> {
        add { request }
    }

    /// Adds a request that is created when the ones before have ended; traps if the chain has ended.
    ///
    /// A chain that runs may grow: a closure of it, or its delegate, adds requests that depend on a response.
    ///
    /// - Parameters:
    ///   - make: Returns the request; called once, on the main actor. An error that is not an ``APIError`` becomes the
    ///     underlying error of an `invalidRequest`; `APIError(.cancelled)` ends the chain as cancelled.
    ///   - recover: Returns a replacement response after the request, or `make`, failed, for example that of another request. An
    ///     error that it throws fails the chain. Not called when the chain or its request is cancelled. Without this closure, a
    ///     failure of the request fails the chain.
    /// - Returns: The request's outcome.
    @discardableResult
    public func add<Manager: APIManager>(
        _ make: @escaping @MainActor () throws -> Manager,
        recover: (@MainActor (APIError) async throws -> Manager.Response)? = nil
    ) -> APIOutcome<Manager.Response> {
        let outcome = APIOutcome<Manager.Response>()
        let step: Step = { group throws(APIError) in
            do throws(APIError) {
                let request = { () throws(APIError) -> Manager in
                    try APIError.mapped(to: .invalidRequest, reason: Self.reason("make")) { try make() }
                }
                try await outcome.load(in: group, request) { $0 }
            } catch {
                group.cancelIfObsolete()
                guard let recover, error.type != .cancelled, !Task.isCancelled else { throw error }
                try await outcome.record { () async throws(APIError) -> Manager.Response in
                    do {
                        let response = try await recover(error)
                        group.replaceFailure(by: nil)
                        return response
                    } catch {
                        let reason = Self.reason("recover")
                        let failure = error as? APIError ?? APIError(.invalidRequest, reason: reason, underlying: error)
                        group.replaceFailure(by: failure)
                        throw failure
                    }
                }
            }
        }
        append(step, whileRunning: true)
        return outcome
    }

    private static func reason(_ closure: String) -> String { "the closure \(closure) of a chain has thrown an error" }

    override func perform() async throws(APIError) {
        // Each may add others.
        while !steps.isEmpty {
            defer { recordFinished() }
            try await takeStep()(self)
        }
    }
}
