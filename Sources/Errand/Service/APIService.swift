public import Foundation

/// A backend: its URL, headers, envelope, sign-in, limits and error texts.
///
/// Create one service for each backend. Set the usual one as ``APIProxy/defaultService``, and return others from
/// ``BaseAPIRequest/service`` in request classes. Copies of a service share its sign-in, including a running relogin, as long as
/// their environments have the same name and origin. A copy that a class returns keeps its own ``environment`` when that of the
/// default service changes.
public struct APIService: Sendable {
    private struct Contents: Sendable {
        var environment: APIEnvironment {
            didSet {
                base = BaseURL(environment.baseURL)
                login = logins.session(of: environment)
            }
        }
        private(set) var base: BaseURL
        let logins = LoginSessions()
        private(set) var login: LoginSession
        var commonHeaders: (@Sendable () async throws -> HTTPHeaders)?
        var commonParams: (@Sendable () async throws -> APIParams?)?
        var adapters = Adapters()
        var monitors: [any APIMonitor] = []
        var envelope: Envelope? = Envelope()
        var failureReader: FailureReader? = .problemDetails
        var timeout: Duration = .seconds(60)
        var deadline: Duration?
        var cookies: CookieJar?
        var cachesAdaptedResponses = false
        var limits = HTTPLimits()
        var redirectPolicy = RedirectPolicy.follow
        var errorMessages = ErrorMessages()
        var loginExpiredStatuses: Set<Int> = [401]
        var isLoginExpired: (@Sendable (APIResponse) -> Bool?)?
        var reloginHandler: (any ReloginHandler)?
        var reloginTimeout: Duration = .seconds(60)
        var retryPolicy = RetryPolicy()
        var paramEncoding = ParamEncoding()
        var encoder: JSONEncoder
        var decoder: JSONDecoder
        var customDecoder: (any ResponseDecoder)?

        init(environment: APIEnvironment) {
            self.environment = environment
            base = BaseURL(environment.baseURL)
            login = logins.session(of: environment)
            (encoder, decoder) = (.iso8601, .iso8601)
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        }
    }

    // Each load that waits has the service.
    @Boxed private var contents: Contents

    /// The installation of the backend, which you may change at any time; loads that have begun keep their environment.
    ///
    /// Reload lists after a change, because their items are from the old environment.
    public var environment: APIEnvironment {
        get { contents.environment }
        set { contents.environment = newValue }
    }
    /// The URL of the ``environment``, including its path, to which the paths of requests are appended.
    ///
    /// A base URL with another origin has a separate login.
    public var baseURL: URL {
        get { contents.environment.baseURL }
        set { contents.environment.baseURL = newValue }
    }
    var base: BaseURL { contents.base }
    /// Header lines of every request; `nil`, the default, adds none.
    ///
    /// Called on any thread before each attempt of a load, also after a relogin and before a retry, and before a stored response
    /// is looked for. A request's own headers replace these.
    ///
    /// ```swift
    /// service.commonHeaders = { [weak store] in ["Authorization": await store?.token] }
    /// ```
    ///
    /// Runs in the task of the load, which is cancelled with the load; ``APIEnvironment/current`` is the environment of the load.
    /// Task-local values of the app have their defaults there, and in adapters and callbacks: the end of one load begins the work
    /// of others. What belongs to the caller is a header or parameter of the request.
    /// An ``APIError`` that the closure throws is handled as if the exchange had failed with it. Any other error fails the load
    /// with `invalidRequest`, and so does `cancelled` unless the load itself is cancelled. To renew a token in time, use
    /// ``ReloginHandler/loginRenewalDate``.
    ///
    /// The closure may wait for a load of a service that does not call it again: a load that begins in the closure, or in a task of
    /// it that is not detached, is sent at once. It does not queue behind loads that wait for the closure.
    public var commonHeaders: (@Sendable () async throws -> HTTPHeaders)? {
        get { contents.commonHeaders }
        set { contents.commonHeaders = newValue }
    }
    /// Parameters of every request; `nil`, the default, adds none.
    ///
    /// Called before ``commonHeaders``, under the same conditions. A request's own parameters replace these.
    public var commonParams: (@Sendable () async throws -> APIParams?)? {
        get { contents.commonParams }
        set { contents.commonParams = newValue }
    }
    /// Adapters that change the parameters, requests, responses, data and failures of each attempt; none by default.
    public var adapters: Adapters {
        get { contents.adapters }
        set { contents.adapters = newValue }
    }
    /// Monitors that observe the loads and plain calls of this service, after the ``APIProxy/monitors`` of the proxy; none by
    /// default.
    ///
    /// Retained. Each load has the monitors that are set when it begins.
    public var monitors: [any APIMonitor] {
        get { contents.monitors }
        set { contents.monitors = newValue }
    }

    /// The wrapper of every response, by default ``Envelope/init()``; `nil` decodes responses as a whole.
    ///
    /// A request's value takes precedence.
    public var envelope: Envelope? {
        get { contents.envelope }
        set { contents.envelope = newValue }
    }
    /// Reads the code and message of responses whose status is not accepted; by default as RFC 9457 problem details, `nil` reads
    /// nothing.
    ///
    /// The ``envelope`` is read only if this reader finds no code; a message that it has found remains.
    public var failureReader: FailureReader? {
        get { contents.failureReader }
        set { contents.failureReader = newValue }
    }
    /// The longest time without a byte sent or received, connecting included; 60 s by default.
    ///
    /// A request's value takes precedence.
    public var timeout: Duration {
        get { contents.timeout }
        set { contents.timeout = newValue }
    }
    /// The longest time of a load after its wait in the queue, including retries, back-off and relogin; `nil`, the default, is no
    /// limit.
    ///
    /// A request's value takes precedence.
    public var deadline: Duration? {
        get { contents.deadline }
        set { contents.deadline = newValue }
    }
    /// The cookies of this backend or account; the proxy's (``APIProxy/cookies``) by default.
    ///
    /// A separate jar also has its own public suffix list, and its own setting for trusting plain `http` to this machine; see
    /// ``CookieJar/init(file:sessionCookies:capacity:publicSuffixList:trustworthyLoopback:at:onError:)``.
    public var cookies: CookieJar? {
        get { contents.cookies }
        set { contents.cookies = newValue }
    }
    /// Whether an ``APICache`` stores a response as the ``Adapters/response`` adapters have made it, and not as it was received;
    /// false by default.
    ///
    /// For sealed traffic: what is sealed with the key or the nonce of one attempt cannot be opened by a later load, which would
    /// find nothing that it can use. What is stored is no longer sealed then.
    public var cachesAdaptedResponses: Bool {
        get { contents.cachesAdaptedResponses }
        set { contents.cachesAdaptedResponses = newValue }
    }
    /// The largest response; by default, a body of 32 MiB in memory and header lines of 256 KiB.
    public var limits: HTTPLimits {
        get { contents.limits }
        set { contents.limits = newValue }
    }
    /// Which redirects are followed; at most 20 by default.
    ///
    /// A request's value takes precedence.
    public var redirectPolicy: RedirectPolicy {
        get { contents.redirectPolicy }
        set { contents.redirectPolicy = newValue }
    }
    /// The texts of errors; English ones by default.
    public var errorMessages: ErrorMessages {
        get { contents.errorMessages }
        set { contents.errorMessages = newValue }
    }
    /// The HTTP statuses that mean that the login has expired, unless ``APIRequestOptions/acceptedStatuses`` contains them; 401 by
    /// default.
    ///
    /// Not those of another origin, to which a redirect has led.
    public var loginExpiredStatuses: Set<Int> {
        get { contents.loginExpiredStatuses }
        set { contents.loginExpiredStatuses = newValue }
    }
    /// Decides whether a refusal means that the login has expired.
    ///
    /// `nil`, the default, leaves the decision to ``loginExpiredStatuses``, ``Envelope/loginExpiredCodes`` and ``failureReader``;
    /// so does a closure that returns `nil`.
    ///
    /// A refusal is a response whose status is not 2xx, even if ``APIRequestOptions/acceptedStatuses`` contains the status, or a
    /// response in which the envelope or the ``failureReader`` reports a failure. If the closure returns `true`, the attempt
    /// fails with `loginExpired`, and the load is sent again after a relogin. If it returns `false`, an accepted status is a
    /// success, and any other refusal fails with `http` or `server`.
    ///
    /// ```swift
    /// service.isLoginExpired = { response in response.serverCode == "WRONG_PASSWORD" ? false : nil }
    /// ```
    ///
    /// Called off the main actor for each refusal, twice if an accepted status and the envelope both refuse, except for a login
    /// request. The response has its ``APIResponse/status``,
    /// ``APIResponse/headers``, ``APIResponse/body``, ``APIResponse/serverCode`` and ``APIResponse/serverMessage``; for a plain
    /// call of ``APIProxy/send(_:to:progress:)``, code and message are `nil`.
    public var isLoginExpired: (@Sendable (APIResponse) -> Bool?)? {
        get { contents.isLoginExpired }
        set { contents.isLoginExpired = newValue }
    }
    /// Signs in again when the login has expired; retained.
    ///
    /// Without a handler, a load whose login has expired fails with `loginExpired`.
    public var reloginHandler: (any ReloginHandler)? {
        get { contents.reloginHandler }
        set { contents.reloginHandler = newValue }
    }
    /// How long ``reloginHandler`` may take before its waiters fail; 60 s by default.
    ///
    /// After this time, the task of the handler is cancelled. A handler that ignores the cancellation stays in memory until it
    /// returns, and is not called again until then.
    public var reloginTimeout: Duration {
        get { contents.reloginTimeout }
        set { contents.reloginTimeout = newValue }
    }
    /// When a failed load is sent again; by default at most twice, and only if the server may receive it several times.
    ///
    /// A request's value takes precedence.
    public var retryPolicy: RetryPolicy {
        get { contents.retryPolicy }
        set { contents.retryPolicy = newValue }
    }
    /// How arrays, Booleans, nested names, spaces and `nil` are encoded; by default `a[]`, `true`, `a[b]` and `+`.
    ///
    /// A request's encoding takes precedence; see ``RequestSerializer/encoding(_:)``.
    public var paramEncoding: ParamEncoding {
        get { contents.paramEncoding }
        set { contents.paramEncoding = newValue }
    }
    /// Encodes parameters as JSON, by default with sorted keys and ISO 8601 dates.
    ///
    /// Change its settings before the first load. Copies of the service share the encoder until you set another one.
    public var encoder: JSONEncoder {
        get { contents.encoder }
        set { contents.encoder = newValue }
    }
    /// Decodes responses, by default with ISO 8601 dates.
    ///
    /// For a backend that sends values of unexpected types, use ``ResponseDecoder/lenient``, which converts them. Change the
    /// decoder's settings before the first load. Copies of the service share the decoder until you set another one.
    public var decoder: JSONDecoder {
        get { contents.decoder }
        set { contents.decoder = newValue }
    }
    /// Decodes responses instead of ``decoder``, for a backend that does not send JSON; `nil` by default.
    ///
    /// A request's decoder takes precedence; see ``ResponseSerializer/decoded(by:)``.
    public var customDecoder: (any ResponseDecoder)? {
        get { contents.customDecoder }
        set { contents.customDecoder = newValue }
    }
    var login: LoginSession { contents.login }
    var logins: LoginSessions { contents.logins }
    let retryBudget = RetryBudget()
    /// What the requests of its relogin inherit; `nil` unless it is the service of a load.
    // Not one of the contents, of which every load would have a copy.
    var loginOwner: LoginOwner?

    /// Creates a service with default settings.
    ///
    /// - Parameter baseURL: An absolute `http` or `https` URL.
    public init(baseURL: URL) { self.init(environment: APIEnvironment("", baseURL: baseURL)) }

    /// Creates a service with default settings in an environment, which you may change while the app runs.
    public init(environment: APIEnvironment) { contents = Contents(environment: environment) }
}

extension APIService: RedactedDescription {
    /// The base URL, without user and password.
    public var description: String { "APIService(\(Redactor.shared.url(baseURL.absoluteString)))" }
}

extension JSONEncoder {
    /// Writes dates in ISO 8601, as a service reads them by default.
    package static var iso8601: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        return encoder
    }
}

extension JSONDecoder {
    /// Reads dates in ISO 8601, as a service writes them by default.
    package static var iso8601: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return decoder
    }
}

/// The base URL of a service, which is split once and not for each request.
struct BaseURL: Sendable {
    let queueHost: String
    /// Before the query, without slashes at the end.
    private let prefix: String
    private let endsWithSlash: Bool
    /// Precedes the query of a request.
    private let query: String
    fileprivate let hasHost: Bool

    init(_ url: URL) {
        let text = url.absoluteString
        let end = text.utf8.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? text.endIndex
        var prefix = Self.removingDotSegments(from: String(text[..<end]))[...]
        while prefix.utf8.last == UInt8(ascii: "/") { prefix.removeLast() }
        self.prefix = String(prefix)
        endsWithSlash = prefix.endIndex < prefix.base.endIndex
        query = String(Substring(text.utf8[end...].prefix { $0 != UInt8(ascii: "#") }.dropFirst()))
        hasHost = url.host != nil
        queueHost = url.queueHost
    }

    /// The path and the query are encoded; the path may have a query itself.
    func appending(path: String, query: String) -> URL? {
        var text = prefix
        text.reserveCapacity(prefix.utf8.count + path.utf8.count + self.query.utf8.count + query.utf8.count + 3)
        // A path that is empty or only a query is that of the base.
        let isBase = path.isEmpty || path.utf8.first == UInt8(ascii: "?")
        if isBase ? endsWithSlash : path.utf8.first != UInt8(ascii: "/") { text += "/" }
        text += path
        if path.utf8.contains(UInt8(ascii: ".")) { text = Self.removingDotSegments(from: text) }
        for part in [self.query, query] where !part.isEmpty { text.append(query: part) }
        return URL(verbatim: text)
    }

    /// Of the path, which URLSession would resolve as well.
    private static func removingDotSegments(from url: String) -> String {
        let query = url.drop { $0 != "?" }
        let parts = url[..<query.startIndex].split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4 else { return url }
        return parts[..<3].joined(separator: "/") + URLReference.removingDotSegments(from: "/\(parts[3])") + query
    }
}

extension String {
    /// Appends a part of the query to a URL, which may have a query, or end with the `?` of one.
    mutating func append(query: String) {
        let former = utf8.drop { $0 != UInt8(ascii: "?") }.count
        if former != 1 { self += former == 0 ? "?" : "&" }
        self += query
    }
}

extension APIService {
    func url(path: String, query: String) throws(APIError) -> URL {
        guard base.hasHost else {
            let reason = "the service's base URL has no host; a base URL is like https://api.example.com/v1"
            throw APIError(.invalidRequest, reason: reason)
        }
        guard let url = base.appending(path: path, query: query) else {
            throw APIError(.invalidRequest, reason: "the path makes no URL below the service's base URL")
        }
        return url
    }
}
