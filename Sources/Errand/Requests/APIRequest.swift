/// A ready-made request for a call that needs no class of its own; takes as arguments what a subclass overrides, except
/// the two `reform` methods.
///
/// ```swift
/// let invoice = try await APIRequest<Invoice>("/orders/{id}/invoice", params: ["id": 7]).value()
/// APIRequest<Void>("/feedback", method: .post, params: ["text": text]).loadData { result in … }
/// ```
///
/// Envelope, login, retries, IDs and cancellation work as for any other request. An async call and a `loadData` with a closure
/// retain the request until its load has ended; with a delegate, keep the request in a property. For an endpoint with several
/// callers, write a request class instead.
public final class APIRequest<Response: Sendable>: BaseAPIRequest, APIManager {
    /// The path below the service's base URL, or an absolute URL of the service's origin.
    public let path: String
    /// The request method.
    public let method: HTTPMethod
    /// Decodes the response.
    public let responseSerializer: ResponseSerializer<Response>

    /// Creates a request whose responses a serializer reads.
    ///
    /// - Parameters:
    ///   - path: The path below the service's base URL, or an absolute URL of the service's origin; see ``APIManager/path``.
    ///   - method: The request method.
    ///   - params: The parameters of every load. Parameters of a call or of the param source are added, and replace those of the
    ///     same name.
    ///   - headers: See ``BaseAPIRequest/headers``.
    ///   - timeout: The longest time without a byte sent or received; `nil` is the service's timeout. See
    ///     ``BaseAPIRequest/timeout``.
    ///   - requestSerializer: How parameters are encoded as a body.
    ///   - responseSerializer: Decodes the response.
    ///   - destination: Where the body of a 2xx response is stored, memory by default; see ``BaseAPIRequest/destination``.
    ///   - service: The backend; `nil` is the proxy's ``APIProxy/defaultService``.
    ///   - restartPolicy: What to do when a load begins while another is running; cancels the running load by default.
    ///   - isLoginRequest: Whether the request signs in; see ``BaseAPIRequest/isLoginRequest``.
    ///   - options: Deadline, priority, retries and other settings.
    ///   - delegate: Receives the endings of loads; not retained.
    ///   - paramSource: Supplies further parameters; not retained.
    ///   - proxy: Sends the request; see ``BaseAPIRequest/init(delegate:paramSource:proxy:)``.
    ///   - parts: Adds files and data to an upload, as ``BaseAPIRequest/appendParts(to:)`` does; called once for each load.
    public init(
        _ path: String,
        method: HTTPMethod = .get,
        params: APIParams? = nil,
        headers: HTTPHeaders = [:],
        timeout: Duration? = nil,
        requestSerializer: RequestSerializer = .json,
        responseSerializer: ResponseSerializer<Response>,
        destination: HTTPRequest.Destination = .memory,
        service: APIService? = nil,
        restartPolicy: RestartPolicy = .cancelPrevious,
        isLoginRequest: Bool = false,
        options: APIRequestOptions = APIRequestOptions(),
        delegate: (any APIManagerCallbackDelegate)? = nil,
        paramSource: (any APIManagerParamSource)? = nil,
        proxy: APIProxy? = nil,
        parts: (@MainActor (inout MultipartForm) -> Void)? = nil
    ) {
        (self.path, self.method, self.responseSerializer) = (path, method, responseSerializer)
        super.init(delegate: delegate, paramSource: paramSource, proxy: proxy)
        let hooks = RequestHooks(
            service: service,
            params: params,
            headers: headers,
            timeout: timeout,
            requestSerializer: requestSerializer,
            destination: destination,
            restartPolicy: restartPolicy,
            isLoginRequest: isLoginRequest,
            options: options,
            parts: parts
        )
        self.hooks = Boxed(wrappedValue: hooks)
    }
}

extension APIRequest where Response: Decodable {
    /// Creates a request that decodes responses according to their type: text, data, or JSON in the service's envelope.
    ///
    /// Its arguments are those of the initializer with a serializer.
    public convenience init(
        _ path: String,
        method: HTTPMethod = .get,
        params: APIParams? = nil,
        headers: HTTPHeaders = [:],
        timeout: Duration? = nil,
        requestSerializer: RequestSerializer = .json,
        destination: HTTPRequest.Destination = .memory,
        service: APIService? = nil,
        restartPolicy: RestartPolicy = .cancelPrevious,
        isLoginRequest: Bool = false,
        options: APIRequestOptions = APIRequestOptions(),
        delegate: (any APIManagerCallbackDelegate)? = nil,
        paramSource: (any APIManagerParamSource)? = nil,
        proxy: APIProxy? = nil,
        parts: (@MainActor (inout MultipartForm) -> Void)? = nil
    ) {
        self.init(
            path,
            method: method,
            params: params,
            headers: headers,
            timeout: timeout,
            requestSerializer: requestSerializer,
            responseSerializer: .automatic,
            destination: destination,
            service: service,
            restartPolicy: restartPolicy,
            isLoginRequest: isLoginRequest,
            options: options,
            delegate: delegate,
            paramSource: paramSource,
            proxy: proxy,
            parts: parts
        )
    }
}

extension APIRequest where Response == DownloadedFile {
    /// Creates a request whose responses are stored in a file.
    ///
    /// Its arguments are those of the initializer with a serializer.
    public convenience init(
        _ path: String,
        method: HTTPMethod = .get,
        params: APIParams? = nil,
        headers: HTTPHeaders = [:],
        timeout: Duration? = nil,
        requestSerializer: RequestSerializer = .json,
        destination: HTTPRequest.Destination = .memory,
        service: APIService? = nil,
        restartPolicy: RestartPolicy = .cancelPrevious,
        isLoginRequest: Bool = false,
        options: APIRequestOptions = APIRequestOptions(),
        delegate: (any APIManagerCallbackDelegate)? = nil,
        paramSource: (any APIManagerParamSource)? = nil,
        proxy: APIProxy? = nil,
        parts: (@MainActor (inout MultipartForm) -> Void)? = nil
    ) {
        self.init(
            path,
            method: method,
            params: params,
            headers: headers,
            timeout: timeout,
            requestSerializer: requestSerializer,
            responseSerializer: .file,
            destination: destination,
            service: service,
            restartPolicy: restartPolicy,
            isLoginRequest: isLoginRequest,
            options: options,
            delegate: delegate,
            paramSource: paramSource,
            proxy: proxy,
            parts: parts
        )
    }
}

extension APIRequest where Response == Void {
    /// Creates a request whose responses have no value.
    ///
    /// Its arguments are those of the initializer with a serializer.
    public convenience init(
        _ path: String,
        method: HTTPMethod = .get,
        params: APIParams? = nil,
        headers: HTTPHeaders = [:],
        timeout: Duration? = nil,
        requestSerializer: RequestSerializer = .json,
        destination: HTTPRequest.Destination = .memory,
        service: APIService? = nil,
        restartPolicy: RestartPolicy = .cancelPrevious,
        isLoginRequest: Bool = false,
        options: APIRequestOptions = APIRequestOptions(),
        delegate: (any APIManagerCallbackDelegate)? = nil,
        paramSource: (any APIManagerParamSource)? = nil,
        proxy: APIProxy? = nil,
        parts: (@MainActor (inout MultipartForm) -> Void)? = nil
    ) {
        self.init(
            path,
            method: method,
            params: params,
            headers: headers,
            timeout: timeout,
            requestSerializer: requestSerializer,
            responseSerializer: .nothing,
            destination: destination,
            service: service,
            restartPolicy: restartPolicy,
            isLoginRequest: isLoginRequest,
            options: options,
            delegate: delegate,
            paramSource: paramSource,
            proxy: proxy,
            parts: parts
        )
    }
}

extension APIRequest {
    /// Unavailable, with the message of the compiler for a type of response without a serializer.
    ///
    /// The compiler chooses it where no other initializer fits: for a type that is not `Decodable`, and for one whose conformance
    /// is isolated to the main actor, which a `Sendable` type cannot use (SE-0470).
    @available(
        *,
        unavailable,
        message: "Response must be Decodable off the main actor: declare a 'nonisolated struct' or a responseSerializer"
    )
    public convenience init(
        _ path: String,
        method: HTTPMethod = .get,
        params: APIParams? = nil,
        headers: HTTPHeaders = [:],
        timeout: Duration? = nil,
        requestSerializer: RequestSerializer = .json,
        destination: HTTPRequest.Destination = .memory,
        service: APIService? = nil,
        restartPolicy: RestartPolicy = .cancelPrevious,
        isLoginRequest: Bool = false,
        options: APIRequestOptions = APIRequestOptions(),
        delegate: (any APIManagerCallbackDelegate)? = nil,
        paramSource: (any APIManagerParamSource)? = nil,
        proxy: APIProxy? = nil,
        parts: (@MainActor (inout MultipartForm) -> Void)? = nil
    ) {
        self.init(path, responseSerializer: .automatic)
    }
}

extension APIRequest {
    /// Has loads that look for a stored response wait at a gate before they queue.
    package func setGate(_ gate: any LoadGate) { hooks?.wrappedValue.gate = gate }
    /// Has loads replace what their cache policy has stored, as the reload of a list does.
    package func reloadStored() { hooks?.wrappedValue.isReloading = true }
}

/// What the hooks of an ``APIRequest`` return.
struct RequestHooks: Sendable {
    let service: APIService?
    let params: APIParams?
    let headers: HTTPHeaders
    let timeout: Duration?
    let requestSerializer: RequestSerializer
    let destination: HTTPRequest.Destination
    let restartPolicy: RestartPolicy
    let isLoginRequest: Bool
    let options: APIRequestOptions
    let parts: (@MainActor (inout MultipartForm) -> Void)?
    var gate: (any LoadGate)?
    var isReloading = false
}
