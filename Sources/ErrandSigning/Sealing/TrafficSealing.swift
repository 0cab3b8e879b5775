public import Errand

/// Encrypts the bodies of requests and responses with a session key, over TLS or without it.
///
/// ```swift
/// service.seal(with: TrafficSealing(cipher: .aesGCM, keyExchange: ShopKeyExchange(), expiredCodes: [4011]))
/// ```
///
/// Every request has the name of its key in ``keyIDHeader``, so that the server seals the response with the same key, and a random
/// value in ``nonceHeader``, another one for each send. A body is replaced by the nonce of 12 bytes, the ciphertext, and the tag
/// of 16 bytes; its `Content-Type` is ``mediaType``, and the former one is in ``contentTypeHeader``. A request without a body has
/// only the two headers. A response has the same form; what reads it, such as the envelope, receives the opened body and the
/// former `Content-Type`.
///
/// A response that means "no body" is a sealed body of no bytes, with a status that may have a body, such as 200. A response with
/// status 204 or 304 cannot be sealed (RFC 9110 sections 15.3.5 and 15.4.5): it fails with `security` unless
/// ``clearStatuses`` has its status. A response to `HEAD` need not be sealed, and nothing in it is authenticated.
///
/// The tag also authenticates these lines of UTF-8, with one line feed between two of them:
///
/// | request | response |
/// | --- | --- |
/// | `request` | `response` |
/// | the method | the method of the request |
/// | path and query as sent | path and query of the request as sent, before redirects |
/// | the key's name | the key's name |
/// | the value of ``nonceHeader`` | the value of ``nonceHeader`` in the request |
/// | the value of ``contentTypeHeader``, or nothing | the value of ``contentTypeHeader``, or nothing |
/// | | the status |
///
/// A body can therefore not be used for another path, a response not as a request, and an older response not for another attempt
/// of the same request. The server must refuse requests that it has received before; if they have a body, it can recognize them
/// by their value of ``nonceHeader``. See the article *On the way* of Errand. Neither URLs nor other headers are encrypted.
///
/// Because every attempt has its own nonce, sealed loads share no exchange, even with `coalescesIdentical`.
///
/// Bodies from memory and from files are sealed in memory, up to ``maxBodyBytes``. A body that is a stream, a request whose
/// response is stored in a file, and a `StreamAPIRequest` fail with `invalidRequest` before they are sent: send these with a copy
/// of the service without sealing.
public struct TrafficSealing: Sendable {
    /// How sealed bodies are written.
    public enum Encoding: Sendable {
        /// As bytes.
        case binary
        /// As Base64 (RFC 4648 section 4) with padding and without line ends.
        case base64
    }

    /// The cipher.
    public let cipher: SealingCipher
    /// Agrees on session keys with the server.
    public let keyExchange: any KeyExchange
    /// The codes in unsealed responses that mean that the server no longer knows the key.
    public let expiredCodes: Set<ServerCode>
    /// The statuses of unsealed responses that mean that the server no longer knows the key.
    public let expiredStatuses: Set<Int>
    /// The key of the code in responses that are not sealed, or a path such as `meta.code`; `errcode` by default.
    public var codeKey = "errcode"
    /// The statuses of failures that the server, or a gateway before it, may send without sealing; 400 to 599 by default.
    ///
    /// Such a response is read as if there were no sealing, and everything in it may have been changed on the way. If this set
    /// contains 204, an attacker on the way can report a success.
    public var clearStatuses = Set(400...599)
    /// The codes that the server may send without sealing, whatever the status; none by default.
    ///
    /// Use this for codes such as that of an expired login. Never add a code that means success.
    public var clearCodes: Set<ServerCode> = []
    /// The header line with the name of the key; `X-Key-ID` by default.
    public var keyIDHeader = "X-Key-ID"
    /// The header line of requests with 32 hexadecimal digits that no other send has; `X-Sealed-Nonce` by default.
    public var nonceHeader = "X-Sealed-Nonce"
    /// The header line with the former `Content-Type`; `X-Sealed-Content-Type` by default.
    public var contentTypeHeader = "X-Sealed-Content-Type"
    /// The `Content-Type` of sealed bodies, by which a sealed response is recognized; `application/x-sealed` by default.
    public var mediaType = "application/x-sealed"
    /// How sealed bodies are written; as bytes by default.
    public var encoding = Encoding.binary
    /// The largest body of a request that is sealed, in bytes; 16 MiB by default.
    public var maxBodyBytes = 16 << 20
    /// How long ``KeyExchange/sessionKey()`` may take before the loads that wait for it fail; 60 s by default.
    public var exchangeTimeout = Duration.seconds(60)
    /// The keys, which copies share.
    let sessions = KeySessions()

    /// Creates sealing, whose other properties can then be set.
    ///
    /// - Parameters:
    ///   - cipher: The cipher.
    ///   - keyExchange: Agrees on session keys with the server; retained.
    ///   - expiredCodes: The codes in responses that are not sealed which mean that the server does not know the key any longer;
    ///     see ``codeKey``.
    ///   - expiredStatuses: The statuses of such responses; none by default.
    public init(
        cipher: SealingCipher,
        keyExchange: any KeyExchange,
        expiredCodes: Set<ServerCode>,
        expiredStatuses: Set<Int> = []
    ) {
        self.cipher = cipher
        self.keyExchange = keyExchange
        self.expiredCodes = expiredCodes
        self.expiredStatuses = expiredStatuses
    }

    /// Removes all keys, for example when the user signs out, so that the next load begins an exchange.
    ///
    /// A running exchange no longer counts, and loads that wait for it wait for another one. Responses that are sealed with a
    /// removed key fail with `security`.
    public func forgetKeys() { sessions.forget() }
}

extension TrafficSealing: RedactedDescription {
    /// The cipher.
    public var description: String { "TrafficSealing(\(cipher))" }
}

extension APIService {
    /// Seals the requests of this service, and opens their responses.
    ///
    /// Adds a request adapter to `APIService.adapters` after those that are there, but before an ``AWSSignature`` and what was
    /// added after that, in whichever order the two are set up: a request is sealed, then signed. A ``ParamSigning`` signs the
    /// parameters before they are sealed. Adds a response adapter before all others. A request adapter that is added later sees the
    /// sealed body, as do those of a single request. Replaces an earlier sealing.
    ///
    /// Copies of the service share the keys, and each environment has its own. Not for
    /// `APIProxy.send(_:progress:)`, and not for a link from the server to another origin.
    public mutating func seal(with sealing: TrafficSealing) {
        adapters.request.removeAll { $0.owner is SealingAdapter }
        adapters.response.removeAll { $0.owner is SealingAdapter }
        let sealer = SealingAdapter(sealing: sealing, service: self)
        let signature = adapters.request.firstIndex { $0.owner is any SigningAdapter }
        adapters.request.insert(sealer.requestAdapter, at: signature ?? adapters.request.endIndex)
        adapters.response.insert(sealer.responseAdapter, at: 0)
        adapters.request = adapters.request.map { adapter in
            guard var signer = adapter.owner as? AWSSigner else { return adapter }
            signer.isSealed = true
            return signer.adapter
        }
    }
}

/// The owner of a request adapter that signs the final bytes of a request.
///
/// `seal(with:)` inserts its adapter before the first of these, so that what is signed is what is sent.
protocol SigningAdapter: Sendable {}
