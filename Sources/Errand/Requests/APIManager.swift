import Foundation

/// The protocol that a ``BaseAPIRequest`` subclass adopts to define its path, its method and the type of its response.
@MainActor public protocol APIManager: BaseAPIRequest {
    /// The type of a decoded response: any `Decodable`, `String`, `Data`, ``JSONValue``, ``DownloadedFile``, or `Void`.
    ///
    /// Responses are decoded off the main actor. In a module whose default isolation is `MainActor`, as in a new app project,
    /// declare the types of a response `nonisolated struct`.
    associatedtype Response: Sendable

    /// The path below the service's base URL, or an absolute URL with the same origin (scheme, host and port) as the base URL.
    ///
    /// Each `{name}` in the path is replaced by the parameter of that name, encoded as one segment; write a literal brace as
    /// `%7B`. An absolute URL keeps its query, and parameters may be added to it. If the URL has another origin, the load fails
    /// with `security` before it is sent, because the service's headers are for its origin alone.
    ///
    /// A ``PageAPIRequest`` reads it for each first page. The pages that are added, and ``APIManager/refreshAll()``, have that of
    /// the list, unless the account or the environment has changed.
    var path: String { get }

    /// The request method.
    var method: HTTPMethod { get }

    /// Decodes the server's response as a ``Response``; `ResponseSerializer.automatic` by default.
    var responseSerializer: ResponseSerializer<Response> { get }

    /// Returns the response to store and deliver, changed if necessary; returns the decoded response unchanged by default.
    ///
    /// Called once for each accepted response, on the main actor, before the response is stored and delivered, and for a stored
    /// response that ``CachePolicy/first`` shows. If this method edits a ``PageAPIRequest`` and so makes the page out of date,
    /// the same load requests the page again, and this method is called for the new response as well.
    ///
    /// For a value of another type, or to refuse a response, use ``ResponseSerializer/map(_:)``: a method with another type, or
    /// one that throws, is never called.
    func reformData(_ response: Response) -> Response
}

extension APIManager {
    /// Returns the response as it is.
    public func reformData(_ response: Response) -> Response { response }

    /// The newest decoded response; a failed load does not change it.
    public var response: Response? { content.flatMap { $0 as? Response } }

    /// The stored response that the newest load with ``CachePolicy/first`` has shown; `nil` if nothing was stored for it, and
    /// after ``BaseAPIRequest/reset()``.
    public var cachedResponse: Response? { cachedContent.flatMap { $0 as? Response } }

    /// Ends a load at once with the ``response`` that the request has, if it is young enough and was loaded with the same
    /// parameters, path, service and login; otherwise loads.
    ///
    /// For a screen that appears again: nothing is sent, and the ending is delivered as usual, after this call has returned. If the
    /// newest load is running and sends the same, no other one begins; ``BaseAPIRequest/restartPolicy`` decides about what else
    /// runs. The parameters are compared as they are encoded in JSON, before hooks and adapters change them. A list is as old as
    /// its first page, and a refresh of it that is loading, or has failed, is given up.
    ///
    /// - Parameters:
    ///   - maxAge: The greatest time since the response was received, or confirmed by the server.
    ///   - params: The parameters; those of the param source by default.
    /// - Returns: The ID of the load, or of the one that is running.
    @discardableResult
    public func loadIfNeeded(maxAge: Duration, params: RequestParams = .source) -> RequestID {
        let service = serviceForNewLoad
        let role = LoginRole(of: self, for: service)
        if let last = loads.last, history.isBeginning(last), proxy.join(last, as: role) {
            return join(last, receiver: .delegate)
        }
        var input = LoadInput(params)
        if input.isFromSource { input.sourceParams = .some(paramSource?.params(for: self)) }
        let draft = RequestDraft(method: method, path: path)
        let wanted = WantedLoad(
            params: input.sourceParams ?? input.params,
            origin: LoadOrigin(draft, service, proxy.jar(for: service)),
            encoder: service?.encoder ?? JSONEncoder()
        )
        let former = history.content(of: wanted, maxAge: maxAge, since: pager?.loadedSince, at: proxy.clock.uptime)
        // Neither what adds a page to a list that is too old loads that again, nor a load that sends nothing.
        let mayJoin = former != nil || pager?.isRefreshing != false && history.formerLoad != loads.last
        if mayJoin, let running = loads.last, history.sends(wanted, in: running), proxy.join(running, as: role) {
            return join(running, receiver: .delegate)
        }
        guard let content, let former else { return begin(input: input) }
        let options = options
        if let running = loadToJoin(restartPolicy, as: role, in: wanted.origin.session) {
            return join(running, receiver: .delegate)
        }
        pager?.keepLoadedPages()
        let load = Load(of: self, draft, to: service, role: role, observing: options)
        loads.append(load.id)
        proxy.loads.insert(load.activeLoad(with: options))
        history.keepFormer(wanted.params, of: load.id, from: wanted.origin)
        load.trace?.begin()
        removeProgress()
        load.end(withFormer: content, former)
        return load.id
    }

    /// Begins a load, whose ending is delivered to exactly one method of the delegate.
    ///
    /// Calls the param source, the hooks, the interceptor and the validator, then returns. The load always ends after this call
    /// has returned, even if one of them refuses it. If ``BaseAPIRequest/restartPolicy`` is `.ignoreNew` and a load is running
    /// that is not of another account or environment, no load begins, the parameters are ignored, and the indicator is that of the
    /// running load as well. On a ``PageAPIRequest``, this loads the first page; `.ignoreNew` then applies only to a load of the
    /// first page, and a load of any other page is cancelled, or, with `.concurrent`, ends without its page being added.
    ///
    /// - Parameters:
    ///   - params: The parameters, which ``BaseAPIRequest/reformParams(_:)`` may change; those of the param source by default.
    ///     Retries and the attempt after a relogin send the same parameters.
    ///   - indicator: Shown now, and hidden when the load ends; retained until then. None by default.
    ///   - message: The text that the indicator shows; none by default.
    /// - Returns: The load's ID, for ``APIProxy/cancelRequest(_:)``.
    @discardableResult
    public func loadData(
        params: RequestParams = .source,
        indicator: (any LoadingIndicator)? = nil,
        message: String? = nil
    ) -> RequestID {
        begin(input: LoadInput(params), indicator: indicator, message: message)
    }

    /// Begins a load, as ``loadData(params:indicator:message:)`` does, and passes its ending to a closure instead of the delegate.
    ///
    /// If ``BaseAPIRequest/restartPolicy`` is `.ignoreNew` and a load is running, the closure receives the ending of that load.
    ///
    /// - Parameters:
    ///   - params: The parameters; those of the param source by default.
    ///   - indicator: Shown now and hidden at the ending; none by default.
    ///   - message: The text that the indicator shows; none by default.
    ///   - completion: Called once, on the main actor, after this call has returned, with the response, the error, or
    ///     `cancelled`. The load retains the closure and the request until then, so you need not keep the request in a property.
    /// - Returns: The load's ID.
    @discardableResult
    public func loadData(
        params: RequestParams = .source,
        indicator: (any LoadingIndicator)? = nil,
        message: String? = nil,
        completion: @escaping @MainActor (Result<Response, APIError>) -> Void
    ) -> RequestID {
        begin(
            input: LoadInput(params),
            indicator: indicator,
            message: message,
            receiver: .closure,
            ended: { completion(Self.response(in: $0)) }
        )
    }

    /// Loads and returns the response.
    ///
    /// The caller receives the ending of the load instead of the delegate. Cancelling the task cancels the load.
    ///
    /// If ``BaseAPIRequest/restartPolicy`` is `.ignoreNew` and a load is running, the caller waits for that load. The load then
    /// has several receivers: the delegate, closure or call that began it, and each waiting call. Cancelling a task removes only
    /// its own call; the load is cancelled when no receiver is left.
    ///
    /// - Parameters:
    ///   - params: The parameters; see ``loadData(params:indicator:message:)``.
    ///   - progress: Called on the main actor any number of times while bytes are transferred, never after the ending. If the
    ///     main actor is busy, only the newest report is delivered. Not called for a load that was already running. None by
    ///     default.
    /// - Returns: The response.
    /// - Throws: Why the load failed; `cancelled` when it was cancelled, or when the user has signed out before this call continues.
    public func value(
        params: RequestParams = .source,
        progress: (@MainActor (TransferProgress) -> Void)? = nil
    ) async throws(APIError) -> Response {
        try await value(from: LoadInput(params), progress: progress)
    }
}

extension APIManager {
    /// A `caller` may leave the load before it has begun.
    func value(
        from input: LoadInput,
        receiver: EndingReceiver = .caller(),
        progress: (@MainActor (TransferProgress) -> Void)? = nil,
        as caller: ResponseCaller? = nil
    ) async throws(APIError) -> Response {
        guard !Task.isCancelled else { throw APIError(.cancelled) }
        let caller = caller ?? ResponseCaller(in: proxy, ifLeft: .failure(APIError(.cancelled)))
        // Others may want the load when this call has left it.
        let report = progress.map { progress in { @MainActor in if caller.isWaiting { progress($0) } } }
        let id = begin(input: input, receiver: receiver, progress: report)
        let session = proxy.session(of: id)
        caller.wait(for: id)
        wait(for: id, as: caller) { caller.end(with: $0) }
        defer { removeWaiters(of: caller) }
        let outcome = await caller.outcome()
        try session.check()
        return try Self.response(in: outcome).get()
    }

    private static func response(in outcome: Result<any Sendable, APIError>) -> Result<Response, APIError> {
        outcome.flatMap { content in
            // Only where the caller has joined the load of a list's next page.
            if let end = content as? EndOfList { return .failure(end.error) }
            guard let response = content as? Response else {
                preconditionFailure("A load of \(Self.self) ended with another type than \(Response.self)")
            }
            return .success(response)
        }
    }
}

extension APIManager {
    /// Unavailable, with the message of the compiler for a ``Response`` without a serializer.
    ///
    /// The compiler chooses this default where no other one fits: for a type that is not `Decodable`, and for one whose
    /// conformance is isolated to the main actor, as in a module with that default isolation (SE-0466, SE-0470).
    @available(
        *,
        unavailable,
        message: "Response must be Decodable off the main actor: declare a 'nonisolated struct' or a responseSerializer"
    )
    public var responseSerializer: ResponseSerializer<Response> { .automatic }
}

extension APIManager where Response: Decodable {
    /// The serializer for the type: text, data, or JSON in the service's envelope.
    public var responseSerializer: ResponseSerializer<Response> { .automatic }
}

extension APIManager where Response == DownloadedFile {
    /// The file.
    public var responseSerializer: ResponseSerializer<DownloadedFile> { .file }
}

extension APIManager where Response == Void {
    /// Nothing.
    public var responseSerializer: ResponseSerializer<Void> { .nothing }
}

extension APIManager {
    /// Returns the request that a load would send now, without sending it; for a cURL command, a test, or a log.
    ///
    /// The request contains everything that ``loadData(params:indicator:message:)`` would send: merged and adapted parameters,
    /// headers, body, signature and cookies, but neither the conditions of a stored response nor the range of a download that
    /// continues. For a list, it is the request for the first page.
    ///
    /// Calls the param source, the hooks, the interceptor and the validator, then the closures of the service and the adapters,
    /// as a load does before it is sent. Adapters may exchange a key. Neither the delegate nor a monitor is notified,
    /// ``BaseAPIRequest/loadAgain()`` ignores this call, and an expired login is not renewed. The closures have the task-local
    /// values of the caller, which those of a load have not. Until this returns, it is one of ``APIProxy/activeRequests``.
    ///
    /// - Parameter params: The parameters; those of the param source by default.
    /// - Returns: The request, with its cookies.
    /// - Throws: Why the load would fail before it is sent; `cancelled` when the interceptor refuses, when its task or all
    ///   requests are cancelled, and after a logout.
    public func prepare(params: RequestParams = .source) async throws(APIError) -> HTTPRequest {
        let (service, options) = (serviceForNewLoad, options)
        let draft = RequestDraft(method: method, path: path)
        let role = LoginRole(of: self, for: service)
        let load = Load(of: self, draft, to: service, role: role, observing: nil)
        let entry = ActiveLoad(
            id: load.id,
            method: method,
            path: path,
            isQueued: false,
            login: service?.login,
            loginRole: role
        ) { _ in }
        proxy.loads.insert(entry)
        defer { _ = proxy.loads.claim(load.id) }
        do throws(APIError) {
            let (page, kept) = (Result { () throws(APIError) in try pager?.firstPage() }, history)
            let call = Result { () throws(APIError) in
                try load.call(LoadInput(params), page, options, of: self)
            }
            history.removeInput(of: load.id, restoring: kept)
            // The call refers to this load, by its progress.
            load.dropCalls()
            guard let call = try call.get() else { throw APIError(.cancelled) }
            let session = proxy.session(of: load.id)
            let request = try await LoadRunner(call, in: proxy).prepare()
            try session.check()
            return request
        } catch {
            throw load.ended(error)
        }
    }
}

/// The source of a load's parameters.
///
/// ```swift
/// list.loadData(params: ["text": "pen"])          // a literal, or nil for none
/// list.loadData(params: .given(params))           // a value
/// list.loadData()                                 // those of the param source
/// ```
public enum RequestParams: Sendable {
    /// The param source of the request, which is called when the load begins.
    case source
    /// These, or none; the param source is not called, and parts come from ``BaseAPIRequest/appendParts(to:)`` alone.
    case given(APIParams?)
}

extension RequestParams: ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral {
    /// Creates parameters from a literal, as ``APIParams`` does.
    public init(dictionaryLiteral elements: (String, APIParams.Value)...) {
        self = .given(APIParams(Dictionary(elements) { _, last in last }))
    }

    /// Sends no parameters.
    public init(nilLiteral: ()) { self = .given(nil) }
}
