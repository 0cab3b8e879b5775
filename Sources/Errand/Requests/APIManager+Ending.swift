extension APIManager {
    /// Shows an answer to all who may refuse or change it.
    func judge(
        _ result: Result<APIAnswer<Response>, APIError>,
        of service: APIService?
    ) -> Result<Response, APIError> {
        switch result {
        case .success(let answer):
            interceptor?.request(self, didReceive: answer.response)
            guard validator?.request(self, accepts: answer.value, in: answer.response) != false else {
                return .failure(APIError(.noContent, service: service, response: answer.response))
            }
            return .success(reformData(answer.value))
        case .failure(let error):
            if let response = error.response { interceptor?.request(self, didReceive: response) }
            return .failure(error)
        }
    }
}

extension BaseAPIRequest {
    /// Records how a load ended, before anybody is told.
    func settle(_ id: RequestID, _ result: Result<any Sendable, APIError>, _ response: APIResponse?) {
        forget(id)
        record(id, result, response)
        loadDidEnd(id, result, response)
        let told = callers.filter { $0.id == id }
        callers.removeAll { $0.id == id }
        for caller in told { caller.continuation.resume(returning: result) }
    }

    private func record(_ id: RequestID, _ result: Result<any Sendable, APIError>, _ response: APIResponse?) {
        // An older one never replaces a newer one of its kind, and a cancel is no news.
        guard result.error?.type != .cancelled else { return }
        if id.isNewest(&newestEnding), error != nil || result.error != nil { error = result.error }
        if let response, id.isNewest(&newestAnswer) { rawResponse = response }
        if case .success(let content) = result, id.isNewest(&newestSuccess) { self.content = content }
    }

    /// Calls the one delegate method that fits.
    func tellDelegate(_ ending: APIEnding) {
        switch ending {
        case .success: delegate?.managerCallAPIDidSucceed(self)
        case .failure(let error): delegate?.managerCallAPIDidFail(self, with: error)
        case .cancelled: delegate?.managerCallAPIDidCancel(self)
        }
    }
}

extension RequestID {
    /// Whether this load is newer than `newest`, which it then becomes.
    fileprivate func isNewest(_ newest: inout RequestID?) -> Bool {
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
