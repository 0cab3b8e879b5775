/// A ready-made request for a call that needs no class: everything that a subclass overrides is an argument.
///
/// ```swift
/// let invoice = try await APIRequest<Invoice>("/orders/{id}/invoice", params: ["id": 7]).value()
/// APIRequest<Void>("/feedback", method: .post, params: ["text": text]).loadData { result in … }
/// ```
///
/// Envelope, login, retries, IDs and cancelling apply as for any other request. The async call and the closure retain the
/// request until its load has ended; with a delegate, keep it in a property. A request class is the better place for an endpoint
/// that has several callers.
public final class APIRequest<Response: Sendable>: BaseAPIRequest, APIManager {
    /// The path below the service's base URL, or an absolute URL of the service's origin.
    public let path: String
    /// The request method.
    public let method: HTTPMethod
    /// Makes the value of an answer.
    public let responseSerializer: ResponseSerializer<Response>
    /// The parameters of every load.
    private let ownParams: APIParams?
    private let hooks: Hooks
    private let parts: (@MainActor (inout MultipartForm) -> Void)?

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - path: The path below the service's base URL, or an absolute URL of the service's origin; see ``APIManager/path``.
    ///   - method: The request method.
    ///   - params: The parameters of every load; those of a call or of the param source are added, and replace others of the same
    ///     name.
    ///   - headers: See ``BaseAPIRequest/headers``.
    ///   - timeout: The longest time without a transferred byte; `nil` is the service's. See ``BaseAPIRequest/timeout``.
    ///   - deadline: How long a load may take; `nil` is the service's. See ``BaseAPIRequest/deadline``.
    ///   - requestSerializer: How parameters are encoded as a body.
    ///   - responseSerializer: Makes the value of an answer; by its type by default.
    ///   - destination: Where the body of a 2xx answer is stored, memory by default; see ``BaseAPIRequest/destination``.
    ///   - service: The backend; `nil` is the proxy's ``APIProxy/defaultService``.
    ///   - options: Priority, retries and everything else.
    ///   - delegate: Receives the endings of loads; not retained.
    ///   - paramSource: Supplies further parameters; not retained.
    ///   - proxy: Sends the request.
    ///   - parts: Adds files and data to an upload, as ``BaseAPIRequest/appendParts(to:)`` does; called once for each load.
    public init(
        _ path: String,
        method: HTTPMethod = .get,
        params: APIParams? = nil,
        headers: HTTPHeaders = [:],
        timeout: Duration? = nil,
        deadline: Duration? = nil,
        requestSerializer: RequestSerializer = .json,
        responseSerializer: ResponseSerializer<Response> = .automatic,
        destination: HTTPRequest.Destination = .memory,
        service: APIService? = nil,
        options: APIRequestOptions = APIRequestOptions(),
        delegate: (any APIManagerCallbackDelegate)? = nil,
        paramSource: (any APIManagerParamSource)? = nil,
        proxy: APIProxy = .shared,
        parts: (@MainActor (inout MultipartForm) -> Void)? = nil
    ) {
        (self.path, self.method, self.responseSerializer) = (path, method, responseSerializer)
        (ownParams, self.parts) = (params, parts)
        hooks = Hooks(
            service: service,
            headers: headers,
            timeout: timeout,
            deadline: deadline,
            requestSerializer: requestSerializer,
            destination: destination,
            options: options
        )
        super.init(delegate: delegate, paramSource: paramSource, proxy: proxy)
    }

    /// What the overridden properties return.
    private struct Hooks {
        let service: APIService?
        let headers: HTTPHeaders
        let timeout: Duration?
        let deadline: Duration?
        let requestSerializer: RequestSerializer
        let destination: HTTPRequest.Destination
        let options: APIRequestOptions
    }

    public override var service: APIService? { hooks.service }
    public override var envelope: Envelope? { hooks.options.envelope }
    public override var acceptedStatuses: Set<Int> { hooks.options.acceptedStatuses }
    public override var headers: HTTPHeaders { hooks.headers }
    public override var timeout: Duration? { hooks.timeout }
    public override var deadline: Duration? { hooks.deadline }
    public override var requestSerializer: RequestSerializer { hooks.requestSerializer }
    public override var destination: HTTPRequest.Destination { hooks.destination }
    public override var redirectPolicy: RedirectPolicy? { hooks.options.redirectPolicy }
    public override var restartPolicy: RestartPolicy { hooks.options.restartPolicy }
    public override var releasePolicy: ReleasePolicy { hooks.options.releasePolicy }
    public override var isLoginRequest: Bool { hooks.options.isLoginRequest }
    public override var retryPolicy: RetryPolicy? { hooks.options.retryPolicy }
    public override var idempotencyKey: String? { hooks.options.idempotencyKey?() }
    public override var priority: RequestPriority { hooks.options.priority }
    public override var coalescesIdentical: Bool { hooks.options.coalescesIdentical }
    public override var reportsProgress: Bool { hooks.options.reportsProgress }
    public override var presentsErrors: Bool { hooks.options.presentsErrors }
    public override var paramAdapters: [any ParamAdapter] { hooks.options.paramAdapters }
    public override var requestAdapters: [any RequestAdapter] { hooks.options.requestAdapters }
    public override var responseAdapters: [any ResponseAdapter] { hooks.options.responseAdapters }
    public override var dataAdapters: [any DataAdapter] { hooks.options.dataAdapters }

    /// Returns the parameters of this request, and `params`, which replace others of the same name.
    public override func reformParams(_ params: APIParams?) -> APIParams? {
        guard let ownParams else { return params }
        return params.map(ownParams.merging) ?? ownParams
    }

    /// Adds the parts of this request.
    public override func appendParts(to form: inout MultipartForm) { parts?(&form) }
}

/// The less frequent properties of an ``APIRequest``; each is a hook of ``BaseAPIRequest`` with the same default.
public struct APIRequestOptions: Sendable {
    /// The priority in the queue of requests; `normal` by default.
    public var priority: RequestPriority
    /// When a failed load is sent again; `nil`, the default, is the service's policy.
    public var retryPolicy: RetryPolicy?
    /// Whether a `GET` or `HEAD` shares the exchange of an identical request; see ``BaseAPIRequest/coalescesIdentical``.
    public var coalescesIdentical: Bool
    /// Returns the key by which a server executes a load once, for example `{ UUID().uuidString }`; `nil`, the default, sends
    /// none.
    ///
    /// Called once for each load, on the main actor; see ``BaseAPIRequest/idempotencyKey``.
    public var idempotencyKey: (@MainActor @Sendable () -> String?)?
    /// The wrapper of the answers; `nil`, the default, is the service's.
    public var envelope: Envelope?
    /// The statuses besides 2xx with which a load succeeds; none by default.
    public var acceptedStatuses: Set<Int>
    /// Which redirects are followed; `nil`, the default, is the service's policy.
    public var redirectPolicy: RedirectPolicy?
    /// What to do when a load begins while another runs; the other is cancelled by default.
    public var restartPolicy: RestartPolicy
    /// What happens to loads when the request is released; they are cancelled by default.
    public var releasePolicy: ReleasePolicy
    /// Whether the request signs in, as ``BaseAPIRequest/isLoginRequest`` describes; false by default.
    public var isLoginRequest: Bool
    /// Whether the delegate receives the progress of transfers; false by default.
    public var reportsProgress: Bool
    /// Whether failed loads are shown by an ``ErrorPresenter``; true by default.
    public var presentsErrors: Bool
    /// What changes the parameters of each send, after those of the service; none by default.
    public var paramAdapters: [any ParamAdapter]
    /// What changes each request, after those of the service; none by default.
    public var requestAdapters: [any RequestAdapter]
    /// What changes each answer, after those of the service; none by default.
    public var responseAdapters: [any ResponseAdapter]
    /// What changes the data of each success, after those of the service; none by default.
    public var dataAdapters: [any DataAdapter]

    /// Creates options; each is the default unless given.
    public init(
        priority: RequestPriority = .normal,
        retryPolicy: RetryPolicy? = nil,
        coalescesIdentical: Bool = false,
        idempotencyKey: (@MainActor @Sendable () -> String?)? = nil,
        envelope: Envelope? = nil,
        acceptedStatuses: Set<Int> = [],
        redirectPolicy: RedirectPolicy? = nil,
        restartPolicy: RestartPolicy = .cancelPrevious,
        releasePolicy: ReleasePolicy = .cancel,
        isLoginRequest: Bool = false,
        reportsProgress: Bool = false,
        presentsErrors: Bool = true,
        paramAdapters: [any ParamAdapter] = [],
        requestAdapters: [any RequestAdapter] = [],
        responseAdapters: [any ResponseAdapter] = [],
        dataAdapters: [any DataAdapter] = []
    ) {
        self.priority = priority
        self.retryPolicy = retryPolicy
        self.coalescesIdentical = coalescesIdentical
        self.idempotencyKey = idempotencyKey
        self.envelope = envelope
        self.acceptedStatuses = acceptedStatuses
        self.redirectPolicy = redirectPolicy
        self.restartPolicy = restartPolicy
        self.releasePolicy = releasePolicy
        self.isLoginRequest = isLoginRequest
        self.reportsProgress = reportsProgress
        self.presentsErrors = presentsErrors
        (self.paramAdapters, self.requestAdapters) = (paramAdapters, requestAdapters)
        (self.responseAdapters, self.dataAdapters) = (responseAdapters, dataAdapters)
    }
}
