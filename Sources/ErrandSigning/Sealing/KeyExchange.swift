public import Errand
public import Foundation

/// Agrees on a session key with the server, for ``TrafficSealing``; implemented by the app.
///
/// ```swift
/// struct ShopKeyExchange: KeyExchange {
///     func sessionKey() async throws -> SessionKey {
///         let response = try await KeyRequest().value(params: ["device": deviceID])
///         return SessionKey(id: response.id, bytes: try decrypted(response.wrappedKey))
///     }
/// }
/// ```
///
/// Retained by the ``TrafficSealing``.
public protocol KeyExchange: Sendable {
    /// Returns a new session key.
    ///
    /// Called on any thread, when a load needs a key and there is none, and when the server has refused the key because it has
    /// expired. One exchange runs at a time for each environment of a service, however many loads need it, and
    /// `APIEnvironment.current` is that environment. If the server refuses more than 5 keys in 30 s, this is treated as a loop, and
    /// the loads fail with `security`.
    ///
    /// A load of the same service that begins in here is neither sealed nor opened. A load of any service is a login request, as
    /// if it had `isLoginRequest`: it neither queues nor waits for a relogin, and fails with `http` if the server refuses its
    /// login. The same applies to loads in child tasks and in `Task { }`. A load that begins in a detached task waits for the
    /// exchange; do not wait for such a load here.
    ///
    /// The task is cancelled when ``TrafficSealing/exchangeTimeout`` has passed, and by ``TrafficSealing/forgetKeys()``; the
    /// result is ignored then, and the next call may begin before this one has returned. The cancel of a load does not
    /// cancel it.
    ///
    /// - Throws: Any error; every waiting load then fails, with the error as `underlying`; after a `CancellationError` or
    ///   `cancelled`, only after one more exchange. After an `APIError` with the type
    ///   `noNetwork`, `timeout` or `transport`, they fail with that type, otherwise with `security`.
    func sessionKey() async throws -> SessionKey
}

/// A key that app and server share for a time, with the name by which the server finds it.
///
/// Its description shows the length of the key alone.
public struct SessionKey: Sendable, Hashable {
    /// The name of the key, which is sent in ``TrafficSealing/keyIDHeader`` and another one for each key: visible ASCII
    /// characters.
    public let id: String
    /// The key: 16, 24 or 32 bytes for ``SealingCipher/aesGCM``, 32 bytes for ``SealingCipher/chaChaPoly``.
    public let bytes: Data

    /// Creates a key.
    ///
    /// - Parameters:
    ///   - id: The name of the key.
    ///   - bytes: The key.
    public init(id: String, bytes: Data) {
        self.id = id
        self.bytes = bytes
    }
}

extension SessionKey: RedactedDescription {
    /// The length of the key, without the key and its name.
    public var description: String { "SessionKey(\(bytes.count) bytes)" }
}

extension APIError {
    static func ofExchange(_ reason: String) -> APIError {
        let error = SigningError(.keyExchangeFailed, reason: reason)
        return APIError(.security, reason: "the key exchange has failed: \(reason)", underlying: error)
    }

    /// Creates the error of the loads that wait for an exchange.
    static func ofExchange(_ error: any Error) -> APIError {
        let ofNetwork: [APIErrorType] = [.noNetwork, .timeout, .transport]
        let type = ofNetwork.first { $0 == (error as? APIError)?.type } ?? .security
        let text = error is APIError || error is SigningError ? "\(error)" : "\(Swift.type(of: error))"
        return APIError(type, reason: "the key exchange has failed: \(text)", underlying: error)
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
