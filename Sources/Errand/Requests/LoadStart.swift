import Foundation

extension APIManager {
    /// Begins a load: adds it to the proxy's table, calls the hooks, and sends it.
    ///
    /// Without `params`, those of the list are sent.
    func begin(
        loading part: ListPart = .first,
        params: LoadParams? = .paramSource,
        indicator: (any LoadingIndicator)? = nil,
        message: String? = nil,
        receiver: EndingReceiver = .delegate,
        progress: (@MainActor (TransferProgress) -> Void)? = nil
    ) -> RequestID {
        // A hook that is read here may begin a load, which is then older than this one.
        let (policy, service) = (restartPolicy, serviceForNewLoad)
        let (draft, releasePolicy) = (RequestDraft(method: method, path: path), releasePolicy)
        let presentsErrors = presentsErrors
        let role = LoginRole(of: self, for: service)
        switch policy {
        case .ignoreNew:
            if let running = loads.last(where: { proxy.loads.join($0, as: role) }) {
                return join(running, receiver: receiver)
            }
        case .cancelPrevious: cancelAllRequests()
        case .concurrent: break
        }
        let params = params ?? pager?.params(of: part) ?? .paramSource
        let load = Load(of: self, draft: draft, params: params, service: service, role: role, indicator: indicator)
        (load.progress, load.presentsErrors) = (progress, presentsErrors)
        loads.append(load.id)
        if case .delegate = receiver {} else { receivers[load.id] = receiver }
        // From here on the load ends with its session, and a cancel in any of the hooks below ends it.
        proxy.loads.insert(load.activeLoad(releasePolicy: releasePolicy, login: service?.login))
        // Before the hooks below: a load that they begin in a list is newer than this one.
        let page = Result { () throws(APIError) in
            try pager?.loadWillBegin(load.id, of: part, params: params, from: service)
        }
        load.trace?.begin()
        if self.progress != nil { self.progress = nil }
        indicator?.showLoading(message)
        send(load, draft: draft, page: page, to: service)
        return load.id
    }

    private func send(
        _ load: Load<Self>,
        draft: RequestDraft,
        page: Result<RequestDraft.Addition?, APIError>,
        to service: APIService?
    ) {
        do throws(APIError) {
            guard let call = try call(for: load, draft: draft, page: page, to: service) else {
                proxy.cancelRequest(load.id)
                return
            }
            load.run(call)
        } catch {
            load.fail(error)
        }
    }

    /// What to send; `nil` when the interceptor refuses, and when the load has been cancelled in a hook.
    private func call(
        for load: Load<Self>,
        draft: RequestDraft,
        page: Result<RequestDraft.Addition?, APIError>,
        to service: APIService?
    ) throws(APIError) -> APICall<Response>? {
        var draft = draft
        draft.params = reformParams(params(from: load.params, of: load.id))
        guard proxy.isActive(load.id) else { return nil }
        draft.headers = headers
        draft.serializer = requestSerializer
        draft.timeout = timeout
        draft.redirectPolicy = redirectPolicy.map(Boxed.init)
        draft.idempotencyKey = idempotencyKey(from: load.params, of: load.id)
        draft.form = try form(for: load, draft)
        let serializer = responseSerializer
        let destination = destination
        draft.destination = try serializer.destination(for: destination)
        if draft.destination != destination { load.temporaryFile = draft.destination.file }
        let (base, addition) = (draft, try page.get())
        if let addition { draft.add(addition) }
        guard proxy.isActive(load.id), interceptor?.request(self, shouldLoad: draft.params) != false else { return nil }
        let options = LoadOptions(of: self, loginRole: load.loginRole, trace: load.trace)
        load.notifiesDelegateOfProgress = reportsProgress
        let (prepared, cookies) = try prepared(service, isLoginRequest: load.loginRole.isLoginRequest)
        guard proxy.isActive(load.id) else { return nil }
        try validate(draft.params)
        let call = APICall(
            id: load.id,
            service: prepared,
            cookies: cookies,
            draft: draft,
            serializer: serializer,
            options: options,
            progress: load.progressHandler
        )
        if addition != nil {
            load.callForPage = { addition in
                var draft = base
                draft.add(addition)
                return call.sending(draft)
            }
        }
        return call
    }

    private func validate(_ params: APIParams?) throws(APIError) {
        guard try validator?.request(self, accepts: params) == false else { return }
        throw APIError(.invalidRequest, reason: "the validator refused the parameters")
    }

    /// The parts of an upload; `nil` if there are none.
    private func form(for load: Load<Self>, _ draft: RequestDraft) throws(APIError) -> MultipartForm? {
        let isMultipart = draft.serializer.isMultipart
        // A boundary costs as much as the rest, and most loads have no parts.
        var form = isMultipart ? MultipartForm() : MultipartForm(boundary: "")
        appendParts(to: &form)
        appendParts(to: &form, from: load.params, of: load.id)
        guard !form.parts.isEmpty else { return isMultipart ? form : nil }
        guard isMultipart else {
            throw APIError(.invalidRequest, reason: "there are parts, but the requestSerializer is not .multipart")
        }
        guard draft.serializer.allowsBody(of: draft.method) else {
            throw APIError(.invalidRequest, reason: "there are parts, but \(draft.method) sends no body")
        }
        return form
    }

    private func prepared(
        _ service: APIService?,
        isLoginRequest: Bool
    ) throws(APIError) -> (APIService, CookieJar) {
        guard var service else {
            throw APIError(.invalidRequest, reason: "there is no service: set defaultService of the proxy")
        }
        // An account that is changed after this changes nothing about the load.
        let cookies = proxy.jar(for: service)
        // Before the changes of this request.
        if !isLoginRequest { service.setLoginOwner(sentBy: proxy) }
        if var envelope {
            // An error that is not wrapped may have a code of the service.
            if envelope.isWholeBody, let inherited = service.envelope {
                envelope.loginExpiredCodes = inherited.loginExpiredCodes
            }
            service.envelope = envelope
        }
        let adapters = AdapterLists(
            params: paramAdapters,
            request: requestAdapters,
            response: responseAdapters,
            data: dataAdapters
        )
        if !adapters.isEmpty { service.adapters.append(adapters) }
        if !isLoginRequest { service.login.readRenewalDate(for: service) }
        // A refused sign-in is a wrong password, not an expired login.
        if isLoginRequest {
            (service.loginExpiredStatuses, service.isLoginExpired) = ([], nil)
            service.envelope?.loginExpiredCodes = []
            service.failureReader = service.failureReader?.ofLoginRequest
        }
        return (service, cookies)
    }
}

extension BaseAPIRequest {
    /// The service of a load that begins now.
    fileprivate var serviceForNewLoad: APIService? {
        let owner = ReloginScope.loginOwner.flatMap { namesProxy && $0.proxy !== proxy ? nil : $0.service }
        return APIService.forNewLoad(service, inheriting: owner, or: proxy.defaultService)
    }
}

extension HTTPRequest.Destination {
    fileprivate var file: URL? {
        guard case .file(let url) = self else { return nil }
        return url
    }
}

extension LoginRole {
    /// The role of a load of `request` that begins now.
    @MainActor fileprivate init(of request: BaseAPIRequest, for service: APIService?) {
        let isInRelogin = service.map { ReloginScope.covers($0.login) } == true
        self = isInRelogin ? .partOfRelogin : request.isLoginRequest ? .signIn : .none
    }
}

extension LoadOptions {
    /// Creates the options of a load of `request`.
    @MainActor fileprivate init(of request: BaseAPIRequest, loginRole: LoginRole, trace: LoadTrace?) {
        self.init(
            priority: request.priority,
            loginRole: loginRole,
            coalescesIdentical: request.coalescesIdentical,
            extras: Extras(
                retryPolicy: request.retryPolicy,
                deadline: request.deadline,
                acceptedStatuses: request.acceptedStatuses,
                trace: trace
            )
        )
    }
}
