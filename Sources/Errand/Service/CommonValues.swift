/// What a service adds to a request: its common headers and parameters of one moment.
struct CommonValues: Sendable {
    var headers: HTTPHeaders = [:]
    var params: APIParams?
}

extension APIService {
    /// Returns what the service adds to a request of this moment.
    func common() async throws(APIError) -> CommonValues {
        var common = CommonValues()
        do {
            if commonParams != nil || commonHeaders != nil {
                common = try await EnvironmentScope.$current.withValue(environment) { try await ownCommon() }
            }
            if !environment.headers.isEmpty { common.headers = common.headers.merging(environment.headers) }
        } catch {
            throw failure(from: error, reason: "the service could not make its common headers or parameters")
        }
        return common
    }

    /// Returns what the closures of the service add.
    private func ownCommon() async throws -> CommonValues {
        var common = CommonValues()
        if let commonParams { common.params = try await commonParams() }
        if let commonHeaders { common.headers = try await commonHeaders() }
        return common
    }

    /// Returns the failure of a load whose closure or adapter has thrown `error`: that error, or one of `type`.
    func failure(from error: any Error, reason: String, as type: APIErrorType = .invalidRequest) -> APIError {
        if let error = error as? APIError {
            // Something else was cancelled, for which the load must not end as cancelled.
            guard error.type == .cancelled, !Task.isCancelled else { return error }
        }
        return APIError(type, reason: reason, underlying: error)
    }
}
