/// The ending of a load.
public enum APIEnding: Sendable {
    /// The load has succeeded.
    case success
    /// The load has failed, with any error but `cancelled`.
    case failure(APIError)
    /// The load was cancelled, or refused by `APIManagerInterceptor.request(_:shouldLoad:)`.
    case cancelled
}

extension Result where Failure == APIError {
    var ending: APIEnding {
        switch self {
        case .success: .success
        case .failure(let error): error.type == .cancelled ? .cancelled : .failure(error)
        }
    }
}

extension Result {
    var error: Failure? {
        guard case .failure(let error) = self else { return nil }
        return error
    }
}
