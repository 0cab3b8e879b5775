extension APIManager {
    /// Begins a load: enters it into the proxy's table, asks everybody who has a say, and sends it.
    func begin(
        at position: LoadPosition = .start,
        indicator: (any LoadingIndicator)? = nil,
        message: String? = nil,
        endsAtCaller: Bool = false
    ) -> RequestID {
        let service = service ?? proxy.defaultService
        let role = LoginRole(of: self, for: service)
        switch restartPolicy {
        case .ignoreNew:
            if let running = loads.last(where: { proxy.mayJoin($0, as: role) }) { return join(running, endsAtCaller) }
        case .cancelPrevious: cancelAllRequests()
        case .concurrent: break
        }
        let load = Load(of: self, role, indicator: indicator)
        loads.append(load.id)
        if endsAtCaller { callersOnly.insert(load.id) }
        // From here on it ends with its session, whatever those do who are asked next.
        proxy.open(load.entry(method: method, path: path, releasePolicy: releasePolicy, session: service?.session))
        indicator?.showLoading(message)
        send(load, to: service, at: position)
        return load.id
    }

    private func send(_ load: Load<Self>, to service: APIService?, at position: LoadPosition) {
        do throws(APIError) {
            guard let call = try call(for: load, to: service, at: position) else {
                proxy.cancelRequest(load.id)
                return
            }
            load.run(call)
        } catch {
            load.fail(error)
        }
    }

    /// What to send; `nil` when the interceptor refuses.
    private func call(
        for load: Load<Self>,
        to service: APIService?,
        at position: LoadPosition
    ) throws(APIError) -> APICall<Response>? {
        var draft = RequestDraft(method: method, path: path)
        draft.params = reformParams(paramSource?.params(for: self))
        draft.headers = headers
        draft.serializer = requestSerializer
        draft.timeout = timeout
        draft.idempotencyKey = idempotencyKey
        if case .multipart = draft.serializer { draft.form = form() }
        draft.destination = destination
        if let page = try loadWillBegin(load.id, at: position, of: service) { draft.add(page) }
        guard interceptor?.request(self, shouldLoad: draft.params) != false else { return nil }
        let options = LoadOptions(of: self, load.loginRole)
        let service = try prepared(service, isLoginRequest: load.loginRole.isLoginRequest)
        guard validator?.request(self, accepts: draft.params) != false else {
            throw APIError(.paramsError, service: service, reason: "the validator refused the parameters")
        }
        return APICall(
            id: load.id,
            service: service,
            draft: draft,
            serializer: responseSerializer,
            options: options,
            progress: reportsProgress ? load.progressHandler : nil
        )
    }

    private func form() -> MultipartForm {
        var form = MultipartForm()
        appendParts(to: &form)
        paramSource?.appendParts(to: &form, for: self)
        return form
    }

    private func prepared(_ service: APIService?, isLoginRequest: Bool) throws(APIError) -> APIService {
        guard var service else {
            throw APIError(.paramsError, reason: "there is no service: set defaultService of the proxy")
        }
        // An account that is changed after this changes nothing about the load.
        service.cookies = proxy.jar(for: service)
        // A refused sign-in is a wrong password, not an expired login.
        if isLoginRequest {
            service.loginExpiredStatuses = []
            service.envelope?.loginExpiredCodes = []
        }
        return service
    }
}
