public import Foundation

/// One backend: its URL, headers, envelope, sign-in, limits and texts of errors.
///
/// An app creates one value for each backend, sets the usual one as ``APIProxy/defaultService``, and returns others from
/// ``BaseAPIRequest/service`` of request classes. Copies of a service share its sign-in where they have the same name of the
/// environment and the same origin: a relogin that runs for one of them runs for all. A copy that a class returns keeps its own
/// ``environment``, however that of the default service changes.
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
            encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            encoder.dateEncodingStrategy = .iso8601
            decoder = JSONDecoder()
            decoder.dateDecodingStrategy = .iso8601
        }
    }

    // Each load that waits has the service.
    @Boxed private var contents: Contents

    /// The installation of the backend, which may be changed at any time; loads that have begun keep theirs.
    ///
    /// The lists of another environment are not those of this one: reload them after a change.
    public var environment: APIEnvironment {
        get { contents.environment }
        set { contents.environment = newValue }
    }
    /// The URL that paths are appended to, its own path included: that of the ``environment``.
    ///
    /// Another origin has another login.
    public var baseURL: URL {
        get { contents.environment.baseURL }
        set { contents.environment.baseURL = newValue }
    }
    var queueHost: String { base.queueHost }
    var base: BaseURL { contents.base }
    /// Header lines of every request; `nil`, the default, adds none.
    ///
    /// Called at each send, so also after a relogin and before a retry; any thread. A request's own headers replace them.
    ///
    /// ```swift
    /// service.commonHeaders = { [weak store] in ["Authorization": await store?.token] }
    /// ```
    ///
    /// The task is that of the load, which a cancel of the load cancels; ``APIEnvironment/current`` is the environment of the
    /// load. The load fails with an ``APIError`` that it throws as if the exchange had, and with `invalidRequest` after any
    /// other, and after a `cancelled` while the load itself is not cancelled. Like ``adapters``, it must not
    /// wait for a load of the same proxy; ``ReloginHandler/loginRenewalDate`` is for a token that has to be renewed.
    public var commonHeaders: (@Sendable () async throws -> HTTPHeaders)? {
        get { contents.commonHeaders }
        set { contents.commonHeaders = newValue }
    }
    /// Parameters of every request; `nil`, the default, adds none.
    ///
    /// Called at each send, before ``commonHeaders`` and like that; a request's own parameters replace them.
    public var commonParams: (@Sendable () async throws -> APIParams?)? {
        get { contents.commonParams }
        set { contents.commonParams = newValue }
    }
    /// What changes the parameters, requests, responses and data of each send; none by default.
    public var adapters: Adapters {
        get { contents.adapters }
        set { contents.adapters = newValue }
    }
    /// What observes the loads and plain calls of this service, after the ``APIProxy/monitors`` of the proxy; none by default.
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
    /// Reads code and message of responses whose status is not accepted; RFC 9457 problem details by default, `nil` for none.
    ///
    /// Precedes the ``envelope``, which is read where this finds nothing.
    public var failureReader: FailureReader? {
        get { contents.failureReader }
        set { contents.failureReader = newValue }
    }
    /// The longest time without a transferred byte in either direction, connecting included; 60 s by default.
    ///
    /// A request's value takes precedence.
    public var timeout: Duration {
        get { contents.timeout }
        set { contents.timeout = newValue }
    }
    /// How long a load may take from its turn to its ending, with retries, back-off and relogin; `nil`, the default, is no
    /// limit.
    ///
    /// A request's value takes precedence.
    public var deadline: Duration? {
        get { contents.deadline }
        set { contents.deadline = newValue }
    }
    /// The cookies of this backend or account; the proxy's (``APIProxy/cookies``) by default.
    ///
    /// A jar made for a service is also where it chooses the public suffix list and whether plain `http` to this machine
    /// is trustworthy; see ``CookieJar/init(file:sessionCookies:capacity:publicSuffixList:trustworthyLoopback:at:onError:)``.
    public var cookies: CookieJar? {
        get { contents.cookies }
        set { contents.cookies = newValue }
    }
    /// How large a response may be; a body of 32 MiB in memory, and header lines of 256 KiB, by default.
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
    /// The HTTP statuses that mean that the login has expired; 401 by default.
    public var loginExpiredStatuses: Set<Int> {
        get { contents.loginExpiredStatuses }
        set { contents.loginExpiredStatuses = newValue }
    }
    /// Decides whether a refusal means that the login has expired; `nil`, the default, leaves that to ``loginExpiredStatuses``,
    /// ``Envelope/loginExpiredCodes`` and ``failureReader``, and so does a closure that returns `nil`.
    ///
    /// A refusal is a response whose status is not 2xx, also one of ``APIRequestOptions/acceptedStatuses``, or one with a failure
    /// in its envelope or for the ``failureReader``. `true` fails the load with `loginExpired`, so that it is sent again after a
    /// relogin. `false` never does: an accepted status is a success, and everything else fails with `http` or `server`.
    ///
    /// ```swift
    /// service.isLoginExpired = { response in response.serverCode == "WRONG_PASSWORD" ? false : nil }
    /// ```
    ///
    /// Called off the main actor, once for each refusal, with its ``APIResponse/status``, ``APIResponse/headers``,
    /// ``APIResponse/body``, ``APIResponse/serverCode`` and ``APIResponse/serverMessage``; not for a login request. A plain call
    /// of ``APIProxy/send(_:to:progress:)`` reads neither code nor message.
    public var isLoginExpired: (@Sendable (APIResponse) -> Bool?)? {
        get { contents.isLoginExpired }
        set { contents.isLoginExpired = newValue }
    }
    /// Signs in again when the login has expired; retained.
    ///
    /// Without one, such a load fails with `loginExpired`.
    public var reloginHandler: (any ReloginHandler)? {
        get { contents.reloginHandler }
        set { contents.reloginHandler = newValue }
    }
    /// How long ``reloginHandler`` may take before its waiters fail; 60 s by default.
    ///
    /// Its task is cancelled then. A handler that ignores the cancel stays in memory until it returns, and is not called again
    /// before.
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
    /// How arrays, Booleans, nested names, spaces and `nil` are written: `a[]`, `true`, `a[b]` and `+` by default.
    ///
    /// The request's takes precedence; see ``RequestSerializer/encoding(_:)``.
    public var paramEncoding: ParamEncoding {
        get { contents.paramEncoding }
        set { contents.paramEncoding = newValue }
    }
    /// Makes JSON of parameters: sorted keys, ISO 8601 dates.
    ///
    /// Change its settings before the first load; copies of the service share it until one is given another.
    public var encoder: JSONEncoder {
        get { contents.encoder }
        set { contents.encoder = newValue }
    }
    /// Reads responses: ISO 8601 dates.
    ///
    /// ``ResponseDecoder/lenient`` is one that converts what has another type. Change its settings before the first load; copies of
    /// the service share it until one is given another.
    public var decoder: JSONDecoder {
        get { contents.decoder }
        set { contents.decoder = newValue }
    }
    /// Reads responses instead of ``decoder``, for a backend with another format than JSON; `nil`, the default, is none.
    ///
    /// The request's takes precedence; see ``ResponseSerializer/decoded(by:)``.
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

    /// Creates a service with its defaults, whose properties can then be set.
    ///
    /// - Parameter baseURL: An absolute `http` or `https` URL.
    public init(baseURL: URL) { self.init(environment: APIEnvironment("", baseURL: baseURL)) }

    /// Creates a service with its defaults in an environment, which can be changed while the app runs.
    public init(environment: APIEnvironment) { contents = Contents(environment: environment) }
}

extension APIService: RedactedDescription {
    /// The base URL, without user and password.
    public var description: String { "APIService(\(Redactor.shared.url(baseURL.absoluteString)))" }
}
