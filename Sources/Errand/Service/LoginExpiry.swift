// Which refusals mean that the login has expired.

extension APIService {
    /// Returns `type` where neither the app nor the failure has another one.
    func errorType(of failure: ServerFailure, as type: APIErrorType, in response: APIResponse) -> APIErrorType {
        let ownType = failure.type == .cancelled ? nil : failure.type
        return switch isLoginExpired?(response.withStatement(failure)) {
        case true?: .loginExpired
        case false?: ownType == .loginExpired ? type : ownType ?? type
        case nil: ownType ?? (isExpiry(failure, type, in: response) ? .loginExpired : type)
        }
    }

    private func isExpiry(_ failure: ServerFailure, _ type: APIErrorType, in response: APIResponse) -> Bool {
        if type == .http, loginExpiredStatuses.contains(response.status) { return true }
        return failure.code.map { envelope?.loginExpiredCodes.contains($0) == true } == true
    }
}
