/// Requests one after the other, each made from the answers before.
///
/// ```swift
/// let chain = APIChain(delegate: self)
/// let goods = chain.add(GoodsListRequest())
/// let details = chain.add { try DetailRequest(id: goods.value[0].id) }
/// chain.start()                                // later: groupDidSucceed, and try details.value
/// ```
///
/// The first failure ends the chain, unless the request has a `recover`; the requests behind it are never made. Plain
/// `async` code needs no chain: `try await DetailRequest(id: GoodsListRequest().value()[0].id).value()`.
public final class APIChain: APIGroup {
    /// Creates a chain without requests.
    ///
    /// - Parameter delegate: Hears how the chain ends; not retained.
    public override init(delegate: (any APIGroupDelegate)? = nil) {
        super.init(delegate: delegate)
    }

    /// Adds a request; adding one to a chain that has begun is a programming error, and traps.
    ///
    /// - Returns: What will become of it.
    @discardableResult
    public func add<Manager: APIManager>(_ request: Manager) -> APIOutcome<Manager.Response> {
        add { request }
    }

    /// Adds a request that is made when its turn has come, from the answers before.
    ///
    /// - Parameters:
    ///   - make: Makes the request; called once, on the main actor. An error that is not an ``APIError`` becomes the underlying
    ///     error of a `invalidRequest`.
    ///   - recover: Gives another answer when the request failed, for instance another request's; what it throws is the
    ///     chain's failure. Not called when the chain is cancelled. Without it the chain fails.
    /// - Returns: What will become of the request.
    @discardableResult
    public func add<Manager: APIManager>(
        _ make: @escaping @MainActor () throws -> Manager,
        recover: (@MainActor (APIError) async throws -> Manager.Response)? = nil
    ) -> APIOutcome<Manager.Response> {
        let outcome = APIOutcome<Manager.Response>()
        enter { () throws(APIError) in
            do throws(APIError) {
                try await outcome.load { () throws(APIError) in try APIChain.made(make) }
            } catch {
                guard let recover, error.type != .cancelled else { throw error }
                try await outcome.take { () throws(APIError) in try await APIChain.recovered(from: error, recover) }
            }
        }
        return outcome
    }

    override func perform(_ steps: [Step]) async throws(APIError) {
        for step in steps {
            defer { noteFinished() }
            try await step()
        }
    }

    private static func made<Manager>(_ make: () throws -> Manager) throws(APIError) -> Manager {
        do {
            return try make()
        } catch {
            throw APIError(fromUser: error)
        }
    }

    private static func recovered<Response>(
        from failure: APIError,
        _ recover: (APIError) async throws -> Response
    ) async throws(APIError) -> Response {
        do {
            return try await recover(failure)
        } catch {
            throw APIError(fromUser: error)
        }
    }
}

extension APIError {
    /// What a closure of the app's threw.
    fileprivate init(fromUser error: any Error) {
        self =
            error as? APIError
            ?? APIError(.invalidRequest, reason: "the next request cannot be made", underlying: error)
    }
}
