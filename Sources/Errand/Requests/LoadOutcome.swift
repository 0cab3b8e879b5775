extension APIManager {
    /// Returns how a load ends; first calls the interceptor, the validator and ``APIManager/reformData(_:)``.
    ///
    /// A list ends, instead of failing, if the requested page does not exist.
    func outcome(
        of result: Result<APIAnswer<Response>, APIError>,
        for id: RequestID
    ) -> Result<any Sendable, APIError> {
        let outcome = validate(result).map { $0 as any Sendable }
        guard let error = outcome.error, pager?.endsList(with: error, of: id) == true else { return outcome }
        return .success(EndOfList(error: error))
    }

    /// Passes an answer to the interceptor, the validator and ``APIManager/reformData(_:)``.
    private func validate(_ result: Result<APIAnswer<Response>, APIError>) -> Result<Response, APIError> {
        switch result {
        case .success(let answer):
            interceptor?.request(self, didReceive: answer.response)
            do throws(APIError) {
                guard try validator?.request(self, accepts: answer.value, in: answer.response) != false else {
                    throw APIError(.invalidAnswer, response: answer.response)
                }
            } catch {
                return .failure(error.withResponse(ifMissing: answer.response))
            }
            return .success(reformData(answer.value))
        case .failure(let error):
            if let response = error.response { interceptor?.request(self, didReceive: response) }
            return .failure(error)
        }
    }
}

extension BaseAPIRequest {
    /// Records how a load ended, before any delegate is notified.
    ///
    /// - Returns: What notifies the observer of a list; `nil` for none.
    func record(
        _ result: Result<any Sendable, APIError>,
        of id: RequestID,
        response: APIResponse?
    ) -> (() -> Void)? {
        removeLoad(id)
        keep(result, of: id, response: response)
        return pager?.loadDidEnd(id, with: result, response: response)
    }

    /// Calls `ended` once with the outcome of a load that has not ended, and retains the request until then.
    func wait(
        for id: RequestID,
        as caller: AnyObject? = nil,
        _ ended: @escaping @MainActor (Result<any Sendable, APIError>) -> Void
    ) {
        waiters.append(LoadWaiter(id: id, request: self, caller: caller, ended: ended))
    }

    /// Removes a caller that may have left a load, which then does not retain the request for it.
    func removeWaiters(of caller: AnyObject) {
        guard !waiters.isEmpty else { return }
        waiters.removeAll { $0.caller === caller }
    }

    /// Removes the callers that wait for the ending of a load, in the order of their calls.
    func takeWaiters(of id: RequestID) -> [LoadWaiter] {
        guard !waiters.isEmpty else { return [] }
        defer { waiters.removeAll { $0.id == id } }
        return waiters.filter { $0.id == id }
    }

    /// Returns how a load ends for one of its callers; cancelling the task leaves the load.
    ///
    /// Retains the request until then.
    func ending(
        of id: RequestID,
        for caller: LoadCaller<Result<any Sendable, APIError>>
    ) async -> Result<any Sendable, APIError> {
        wait(for: id, as: caller) { caller.end(with: $0) }
        defer { removeWaiters(of: caller) }
        return await caller.outcome()
    }

    private func keep(_ result: Result<any Sendable, APIError>, of id: RequestID, response: APIResponse?) {
        // An older ending never replaces a newer one of its kind; a cancellation replaces none.
        guard result.error?.type != .cancelled else { return }
        if id.replaceIfNewer(&newestEnding), error != nil || result.error != nil { error = result.error }
        if let response, id.replaceIfNewer(&newestAnswer) { rawResponse = response }
        guard case .success(let content) = result, !(content is EndOfList) else { return }
        if id.replaceIfNewer(&newestSuccess) { self.content = content }
    }

    /// Calls the one delegate method that fits.
    func notifyDelegate(_ ending: APIEnding) {
        switch ending {
        case .success: delegate?.managerCallAPIDidSucceed(self)
        case .failure(let error): delegate?.managerCallAPIDidFail(self, with: error)
        case .cancelled: delegate?.managerCallAPIDidCancel(self)
        }
    }
}

extension RequestID {
    /// Whether this load is newer than `newest`, which it then becomes.
    fileprivate func replaceIfNewer(_ newest: inout RequestID?) -> Bool {
        if let newest, newest >= self { return false }
        newest = self
        return true
    }
}

extension Result {
    var error: Failure? {
        guard case .failure(let error) = self else { return nil }
        return error
    }
}

/// The outcome of a load of a page that is not there, because the list ends in front of it.
struct EndOfList: Sendable {
    /// The server's answer.
    let error: APIError
}

/// What receives the ending of a load.
enum EndingReceiver {
    /// The delegate of the request.
    case delegate
    /// A closure, which is a waiter.
    case closure
    /// An async call, which is a waiter and throws the error.
    case caller
    /// An async call of a group, which presents one error of its requests.
    case group(APIGroup)

    /// The receiver of a load that follows up: a call receives one ending, and an async one needs no delegate.
    var ofFollowUp: EndingReceiver {
        switch self {
        case .delegate, .closure: .delegate
        case .caller, .group: .caller
        }
    }
}

extension BaseAPIRequest {
    /// Joins a load that runs.
    ///
    /// A delegate is notified besides the waiters of the load, and then, as for a closure, its error is presented. A group
    /// presents the error of a load that an async call has begun.
    func join(_ id: RequestID, receiver: EndingReceiver) -> RequestID {
        switch receiver {
        case .delegate: receivers[id] = nil
        case .closure: if receivers[id] != nil { receivers[id] = .closure }
        case .group: if case .caller? = receivers[id] { receivers[id] = receiver }
        case .caller: break
        }
        return id
    }

    /// Removes and returns the receiver of a load.
    func takeReceiver(of id: RequestID) -> EndingReceiver {
        receivers.isEmpty ? .delegate : receivers.removeValue(forKey: id) ?? .delegate
    }
}

/// A caller that waits for the ending of a load.
struct LoadWaiter {
    let id: RequestID
    /// A reference cycle, which the ending of the load removes: a request that nothing else retains is not released before.
    let request: BaseAPIRequest
    /// What identifies it; `nil` for one that waits until the ending.
    let caller: AnyObject?
    let ended: @MainActor (Result<any Sendable, APIError>) -> Void
}
