extension APIManager {
    /// Returns the request that a load would send now, and sends nothing: for a cURL command, a test, or a log.
    ///
    /// It has everything that ``loadData(params:indicator:message:)`` would send: merged and adapted parameters, headers, body,
    /// signature and cookies, of a list those of its first page. Calls what that calls before it sends: the param source, the
    /// hooks, the interceptor and the validator, then the closures of the service and the adapters, which may exchange a key.
    /// Neither the delegate nor a monitor is notified, ``BaseAPIRequest/loadAgain()`` knows nothing of it, and an expired login is
    /// not renewed.
    ///
    /// - Parameter params: The parameters; those of the param source by default.
    /// - Returns: The request, with its cookies.
    /// - Throws: Why the load would fail before it is sent; `cancelled` when the interceptor refuses, and after a logout.
    public func prepare(params: RequestParams = .source) async throws(APIError) -> HTTPRequest {
        let (service, options) = (serviceForNewLoad, options)
        let draft = RequestDraft(method: method, path: path)
        let role = LoginRole(of: self, for: service)
        let load = Load(of: self, draft, to: service, role: role, indicator: nil)
        let entry = ActiveLoad(id: load.id, method: method, path: path, login: service?.login, loginRole: role) { _ in }
        proxy.loads.insert(entry)
        defer { _ = proxy.loads.claim(load.id) }
        do throws(APIError) {
            let call = try load.callToPrepare(draft, LoadInput(params), options, of: self, to: service)
            guard let call else { throw APIError(.cancelled) }
            return try await LoadRunner.prepared(call, in: proxy)
        } catch {
            throw load.ended(error)
        }
    }
}

extension Load {
    /// Leaves the input that ``BaseAPIRequest/loadAgain()`` sends as it was.
    fileprivate func callToPrepare(
        _ draft: RequestDraft,
        _ input: LoadInput,
        _ options: APIRequestOptions,
        of manager: Manager,
        to service: APIService?
    ) throws(APIError) -> Call<Manager.Response>? {
        let kept = manager.history
        defer {
            manager.history.removeInput(of: id, restoring: kept)
            // The call refers to this load, by its progress.
            callForPage = nil
        }
        let page = Result { () throws(APIError) in try manager.pager?.firstPage() }
        return try call(draft, input, page, options, of: manager, to: service)
    }
}
