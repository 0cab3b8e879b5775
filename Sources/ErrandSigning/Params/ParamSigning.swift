public import Errand
import Foundation

/// Signs the parameters of requests: the digest of their sorted names and values, with a secret that the server has as well.
///
/// ```swift
/// service.sign(with: ParamSigning(secret: "…", algorithm: .hmacSHA256, into: .parameter("sign")))
/// ```
///
/// With the defaults, parameters `b=2` and `a=1` are sent with a `timestamp`, a `nonce` and a `sign`, which is the digest of
/// `a=1&b=2&nonce=…&timestamp=…`. Each attempt is signed anew, also a retry and the attempt after a relogin.
///
/// What is signed:
/// - Names and values exactly as they are sent, before they are percent-encoded, in the order of the bytes of the names in UTF-8;
///   parameters of one name in the order in which they are sent.
/// - In a query, a form or a multipart body: each pair as `ParamEncoding` writes it, so `a[]=1`, `a[b]=1` and `true` with
///   the defaults; `nil` is neither sent nor signed.
/// - In a JSON body: each member of the outermost object; a string without quotes and escapes, and everything else as its JSON
///   text: `3`, `0.5`, `true`, `null`, `[1,2]`, `{"a":1}`. A nested value requires an encoder with sorted keys that does not
///   pretty-print, as a service has it by default. Parameters that are encoded in both query and body are signed as in the query.
/// - Not the parameters that are placed in the path, nor a query that the base URL or the path has, nor a raw body, nor the
///   files of a multipart body, nor, with a signature among the parameters, what parameter adapters add that are called later.
/// - Of a plain call and of a link of the server (`.link`): the names and values of the URL's query, or for a link of a list whose
///   parameters are placed in the body, those of the body. A server may make a
///   link from the URL that was requested: timestamp, nonce and signature in a link are replaced. As each of its links is another
///   one, a server that sends the same page for ever is recognized by `PageAPIRequest.itemID` alone.
///
/// A name or a value that contains a separator makes the signed text ambiguous, unless ``percentEncodes`` is true: `{a: "1&b=2"}`
/// and `{a: 1, b: 2}` have the same text, `a=1&b=2`, and so the same signature. If the server supports percent-encoding and
/// values are free text, set ``percentEncodes``.
///
/// The load fails with `invalidRequest` when it has a parameter or a header that the signature would replace.
public struct ParamSigning: Sendable {
    /// The digest of the signed text.
    public enum Algorithm: Sendable, Hashable, CaseIterable {
        /// MD5 (RFC 1321) of a text that contains the secret; only for servers that require it.
        case md5
        /// SHA-1 (FIPS 180-4) of a text that contains the secret; only for servers that require it.
        case sha1
        /// SHA-256 (FIPS 180-4) of a text that contains the secret.
        case sha256
        /// HMAC-SHA-256 (RFC 2104), whose key is the secret.
        case hmacSHA256
    }

    /// Where a value is sent.
    public enum Place: Sendable, Hashable {
        /// In the parameter of this name.
        case parameter(String)
        /// In the header of this name; signed under another name, if any.
        case header(String, signedAs: String? = nil)
    }

    /// Where the secret is in the signed text.
    public enum SecretPosition: Sendable, Hashable {
        /// After the parameters: `a=1&b=2SECRET`.
        case appended
        /// Before the parameters: `SECRETa=1&b=2`.
        case prepended
        /// Both before and after the parameters: `SECRETa=1&b=2SECRET`.
        case surrounding
        /// A parameter of this name after the others: `a=1&b=2&key=SECRET`.
        case lastParameter(String)
        /// A parameter of this name among the others: `a=1&appsecret=SECRET&b=2`.
        case sortedParameter(String)
    }

    /// How the digest is written.
    public enum Encoding: Sendable, Hashable {
        /// Hexadecimal digits in lower case.
        case hex
        /// Hexadecimal digits in upper case.
        case upperHex
        /// Base64 (RFC 4648 section 4).
        case base64
    }

    /// The unit of the timestamp, which counts from 1970.
    public enum TimestampUnit: Sendable, Hashable {
        /// Whole seconds.
        case seconds
        /// Milliseconds.
        case milliseconds
    }

    /// The digest of the signed text.
    public let algorithm: Algorithm
    /// Where the signature is sent.
    public let signature: Place
    /// Where the current time is sent and signed; the parameter `timestamp` by default, `nil` for no timestamp.
    ///
    /// A header requires that the signature is in a header as well.
    public var timestamp: Place? = .parameter("timestamp")
    /// The unit of the timestamp; seconds by default.
    public var timestampUnit = TimestampUnit.seconds
    /// Where 32 random hexadecimal digits, different for each attempt, are sent and signed; the parameter `nonce` by default,
    /// `nil` for no nonce.
    ///
    /// A header requires that the signature is in a header as well.
    public var nonce: Place? = .parameter("nonce")
    /// Where the secret is in the signed text.
    ///
    /// `nil`, the default, appends the secret for a plain digest, and uses it only as the key for ``Algorithm/hmacSHA256``. With
    /// any other value, the signed text contains the secret for both.
    public var secretPosition: SecretPosition?
    /// The text between a name and its value; `=` by default.
    public var valueSeparator = "="
    /// The text between two parameters; `&` by default.
    public var pairSeparator = "&"
    /// Whether names and values are percent-encoded in the signed text, all bytes but the unreserved ones of RFC 3986; false by
    /// default.
    ///
    /// With true and separators that are escaped then, such as the default ones, no name or value contains one, so different
    /// parameters have different texts. With empty separators, every text is ambiguous.
    public var percentEncodes = false
    /// Whether parameters with an empty value or `null` are not signed; false by default.
    public var omitsEmptyValues = false
    /// The names of parameters that are sent, but not signed, also if a parameter is sent as several pairs; none by default.
    public var unsignedNames: Set<String> = []
    /// How the digest is written; hexadecimal digits in lower case by default.
    public var encoding = Encoding.hex
    /// How a wrong clock of the device is corrected; `nil`, the default, uses it as it is.
    public var clockCorrection: ClockCorrection?

    let secret: @Sendable () async throws -> String
    let serverClock = ServerClock()
    /// Replaced by tests.
    var makeNonce: @Sendable () -> String = { [UInt8].random(count: 16).hexadecimal }

    /// Creates a signing with a secret that does not change.
    ///
    /// - Parameters:
    ///   - secret: The secret.
    ///   - algorithm: The digest of the signed text.
    ///   - signature: Where the signature is sent.
    public init(secret: String, algorithm: Algorithm, into signature: Place) {
        self.init(algorithm: algorithm, into: signature) { secret }
    }

    /// Creates a signing with a secret that may change, such as one of a login.
    ///
    /// - Parameters:
    ///   - algorithm: The digest of the signed text.
    ///   - signature: Where the signature is sent.
    ///   - secret: Returns the secret. Called at every send, on any thread, in the task of the load, which fails with an error
    ///     that it throws.
    public init(
        algorithm: Algorithm,
        into signature: Place,
        secret: @escaping @Sendable () async throws -> String
    ) {
        self.algorithm = algorithm
        self.signature = signature
        self.secret = secret
    }
}

extension ParamSigning: RedactedDescription {
    /// The algorithm and the place of the signature.
    public var description: String { "ParamSigning(\(algorithm), \(signature))" }
}

extension APIService {
    /// Signs the parameters of each request of this service, after the adapters that the service has already, but before sealing
    /// and an ``AWSSignature``.
    ///
    /// Adds to the params and the request of `APIService.adapters`, and with a ``ParamSigning/clockCorrection`` to the response;
    /// replaces an earlier `ParamSigning` of this service.
    public mutating func sign(with signing: ParamSigning) {
        let signer = ParamSigner(signing: signing)
        adapters.params.removeAll { $0.owner is ParamSigner }
        adapters.request.removeAll { $0.owner is ParamSigner }
        adapters.params.append(signer.paramAdapter)
        // What is sealed, or signed as a whole, has the query as it is sent.
        let whole = adapters.request.firstIndex {
            $0.owner is SealingAdapter || $0.owner is AWSQueryAdapter || $0.owner is any SigningAdapter
        }
        adapters.request.insert(signer.requestAdapter, at: whole ?? adapters.request.endIndex)
        correctClock(signing.serverClock, of: ParamSigning.self, by: signing.clockCorrection)
    }
}
