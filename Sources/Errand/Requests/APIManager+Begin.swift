extension APIManager {
    /// Begins a load: enters it into the proxy's table, asks everybody who has a say, and sends it.
    func begin(
        at position: LoadPosition = .start,
        indicator: (any LoadingIndicator)? = nil,
        message: String? = nil,
        endsAtCaller: Bool = false
    ) -> RequestID {
        if restartPolicy == .ignoreNew, let running = loads.last(where: proxy.isActive) { return running }
        if restartPolicy == .cancelPrevious { cancelAllRequests() }
        let load = Load(of: self, indicator: indicator, endsAtCaller: endsAtCaller)
        loads.append(load.id)
        proxy.open(load.entry(method: method, path: path, releasePolicy: releasePolicy))
        indicator?.showLoading(message)
        send(load, at: position)
        return load.id
    }

    private func send(_ load: Load<Self>, at position: LoadPosition) {
        do throws(APIError) {
            guard let call = try call(for: load, at: position) else {
                proxy.cancelRequest(load.id)
                return
            }
            load.run(call)
        } catch {
            load.fail(error)
        }
    }

    /// What to send; `nil` when the interceptor refuses.
    private func call(for load: Load<Self>, at position: LoadPosition) throws(APIError) -> APICall<Response>? {
        var draft = RequestDraft(method: method, path: path)
        draft.params = reformParams(paramSource?.params(for: self))
        draft.headers = headers
        draft.serializer = requestSerializer
        draft.timeout = timeout
        draft.idempotencyKey = idempotencyKey
        if case .multipart = draft.serializer { draft.form = form() }
        if let page = try loadWillBegin(load.id, at: position) { draft.add(page) }
        guard interceptor?.request(self, shouldLoad: draft.params) != false else { return nil }
        let service = try serviceForLoad()
        guard validator?.request(self, accepts: draft.params) != false else {
            throw APIError(.paramsError, service: service, reason: "the validator refused the parameters")
        }
        return APICall(
            id: load.id,
            service: service,
            draft: draft,
            serializer: responseSerializer,
            options: LoadOptions(of: self),
            progress: reportsProgress ? load.progressHandler : nil
        )
    }

    private func form() -> MultipartForm {
        var form = MultipartForm()
        paramSource?.appendParts(to: &form, for: self)
        return form
    }

    private func serviceForLoad() throws(APIError) -> APIService {
        guard var service = service ?? proxy.defaultService else {
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
