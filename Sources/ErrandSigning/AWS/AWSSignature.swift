public import Errand
import Foundation

/// Signs requests by AWS Signature Version 4, in a header or in the query.
///
/// ```swift
/// service.sign(with: AWSSignature(region: "eu-central-1", service: "execute-api") { try await store.credentials() })
/// ```
///
/// For each attempt, signs method, path, query, header lines and body as the previous adapters have left them; a retry and the
/// attempt after a relogin have a new signature. Not signed are the cookies, which are added afterwards, and the header lines that
/// a connection, a proxy server, the cache or a stream changes: `Accept-Encoding`, `Connection`, `Content-Length`, `Expect`,
/// `If-Modified-Since`, `If-None-Match`, `If-Range`, `Last-Event-ID`, `Range`, `TE`, `Transfer-Encoding`, `Upgrade`, `User-Agent`,
/// `X-Amzn-Trace-Id` and those that begin with `Proxy-`. A redirect is not signed: within the origin it keeps the header lines of
/// the first URL, which are not valid for it; elsewhere, and in the query, it has none.
///
/// Sealed bodies (``TrafficSealing``) are signed as they are sent; with them, the signature has to be in a header, because the
/// query is authenticated with the body; otherwise the load fails with `invalidRequest`.
///
/// A space in the query is sent as `%20` and not as `+`, because services differ in how they read the latter. An address is sent
/// and signed in its usual notation: `127.0.0.1` for `127.1`.
///
/// If the request cannot be signed, the load fails with `invalidRequest` before anything is sent; the underlying error is a
/// ``SigningError``, or that of the file or of `credentials`. An `APIError` that `credentials` throws, other than `cancelled`, is
/// treated as if the exchange had failed with it; a file that cannot be read to its end fails the load with `storage`.
public struct AWSSignature: Sendable {
    /// Where the signature is.
    public enum Form: Sendable, Hashable {
        /// In the `Authorization` header.
        case header
        /// In the query, as in a presigned URL, which is valid for `expiry`: one second to seven days.
        case query(expiry: Duration)
    }

    /// Which body is signed.
    public enum Payload: Sendable, Hashable {
        /// The bytes of the body, which are hashed before they are sent; files in chunks.
        ///
        /// A body with an `HTTPBody.Stream` cannot be hashed, and fails the load.
        case signed
        /// None: `UNSIGNED-PAYLOAD`, which S3 accepts over TLS.
        case unsigned
    }

    /// The region, such as `us-east-1`.
    public let region: String
    /// The name of the service in signatures, such as `s3` or `execute-api`.
    public let service: String
    /// Where the signature is; in a header by default.
    public var form = Form.header
    /// Which body is signed; its bytes by default.
    public var payload = Payload.signed
    /// Whether the hash of the body is sent as `X-Amz-Content-Sha256`; by default only for `s3`, which requires it.
    ///
    /// Sent in any case in the header form with an unsigned payload.
    public var sendsPayloadHash: Bool
    /// Whether dot segments and empty segments are removed from the path that is signed; by default for all services but `s3`.
    public var normalizesPath: Bool
    /// Whether the percent-encoded path is encoded once more for the signature; by default for all services but `s3`.
    public var encodesPathTwice: Bool
    /// Whether the token of the session is signed; true by default.
    ///
    /// AWS IoT requires that it is sent, but not signed.
    public var signsSessionToken = true
    /// How a wrong clock of the device is corrected; `nil`, the default, uses it as it is.
    public var clockCorrection: ClockCorrection?

    let credentials: @Sendable () async throws -> AWSCredentials
    let keys = SigningKeyCache()
    let serverClock = ServerClock()

    /// Creates a signature with its defaults, whose properties can then be set.
    ///
    /// - Parameters:
    ///   - region: The region, such as `us-east-1`.
    ///   - service: The name of the service in signatures, such as `s3` or `execute-api`.
    ///   - credentials: Returns the credentials. Called for each attempt, on any thread, in the task of the load, so it should
    ///     cache credentials until they expire.
    public init(
        region: String,
        service: String,
        credentials: @escaping @Sendable () async throws -> AWSCredentials
    ) {
        let isS3 = service == "s3"
        self.region = region
        self.service = service
        self.credentials = credentials
        (sendsPayloadHash, normalizesPath, encodesPathTwice) = (isS3, !isS3, !isS3)
    }
}

extension AWSSignature: RedactedDescription {
    /// The region and the service.
    public var description: String { "AWSSignature(\(region)/\(service))" }
}

extension APIService {
    /// Signs each request of this service by AWS Signature Version 4, after the adapters that the service has already.
    ///
    /// Adds to the request of `APIService.adapters`, and with a ``AWSSignature/clockCorrection`` to the response; replaces an
    /// earlier `AWSSignature` of this service.
    public mutating func sign(with signature: AWSSignature) {
        adapters.request.removeAll { $0.owner is AWSSigner || $0.owner is AWSQueryAdapter }
        let sealing = adapters.request.firstIndex { $0.owner is SealingAdapter }
        adapters.request.insert(AWSQueryAdapter().adapter, at: sealing ?? adapters.request.endIndex)
        adapters.request.append(AWSSigner(options: signature, isSealed: sealing != nil).adapter)
        correctClock(signature.serverClock, of: AWSSignature.self, by: signature.clockCorrection)
    }
}

/// The key of the last day for which a request was signed: four authentication codes that all requests of a day share.
///
/// It is that of one ``AWSSignature`` and its copies, whose region and service do not change.
final class SigningKeyCache: Sendable {
    private struct Entry: Sendable {
        let secret: String
        let day: Substring
        let key: [UInt8]
    }

    private let entry = Lock<Entry?>(nil)

    /// Returns the scope of a moment, and its key.
    func scope(
        at date: Date,
        of signature: AWSSignature,
        secret: String
    ) throws(SigningError) -> (scope: CredentialScope, key: [UInt8]) {
        let scope = CredentialScope(date, region: signature.region, service: signature.service)
        let known = entry.withLock { $0 }
        if let known, known.day == scope.day, known.secret.utf8.elementsEqual(secret.utf8) { return (scope, known.key) }
        var key = Array("AWS4\(secret)".utf8)
        for text in [String(scope.day), signature.region, signature.service, "aws4_request"] {
            key = try PlatformCrypto.hmacSHA256(of: Array(text.utf8), key: key)
        }
        let new = Entry(secret: secret, day: scope.day, key: key)
        entry.withLock { exchange(&$0, with: new) }
        return (scope, key)
    }
}

extension SigningKeyCache: CustomReflectable {
    /// Nothing, because `dump` prints the key and the secret otherwise.
    var customMirror: Mirror { Mirror(self, children: [:]) }
}
