import Errand

extension APIError {
    static func ofExchange(_ reason: String) -> APIError {
        let error = SigningError(.keyExchangeFailed, reason: reason)
        return APIError(.security, reason: "the key exchange has failed: \(reason)", underlying: error)
    }

    /// Creates the error of the loads that wait for an exchange.
    static func ofExchange(_ error: any Error) -> APIError {
        let prefix = "the key exchange has failed"
        switch error {
        case let error as APIError:
            let isOfNetwork = [.noNetwork, .timeout, .transport].contains(error.type)
            let reason = "\(prefix): \(error)"
            return APIError(isOfNetwork ? error.type : .security, reason: reason, underlying: error)
        case let error as SigningError:
            return APIError(.security, reason: "\(prefix): \(error)", underlying: error)
        default:
            return APIError(.security, reason: "\(prefix): \(Swift.type(of: error))", underlying: error)
        }
    }

    /// The error of a load that has been replayed with a new key, which the server has refused as well.
    static var refusedAgain: APIError {
        let reason = "the server has refused the key of the replay as well"
        return APIError(.security, reason: reason, underlying: SigningError(.stale, reason: reason))
    }

    /// The error of loads that need one exchange too many.
    static var tooManyExchanges: APIError {
        let seconds = KeyState.window.components.seconds
        return .ofExchange("\(KeyState.maxExpiries) of them in \(seconds) s did not help")
    }
}
