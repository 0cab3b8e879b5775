extension APIManager {
    /// Returns the request that a load would send now, without sending it; for a cURL command, a test, or a log.
    ///
    /// The request contains everything that ``loadData(params:indicator:message:)`` would send: merged and adapted parameters,
    /// headers, body, signature and cookies, but neither the conditions of a stored response nor the range of a download that
    /// continues. For a list, it is the request for the first page.
    ///
    /// Calls the param source, the hooks, the interceptor and the validator, then the closures of the service and the adapters,
    /// as a load does before it is sent. Adapters may exchange a key. Neither the delegate nor a monitor is notified,
    /// ``BaseAPIRequest/loadAgain()`` ignores this call, and an expired login is not renewed.
    ///
    /// - Parameter params: The parameters; those of the param source by default.
    /// - Returns: The request, with its cookies.
    /// - Throws: Why the load would fail before it is sent; `cancelled` when the interceptor refuses, and after a logout.
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
            return try await LoadRunner.prepare(call, in: proxy)
        } catch {
            throw load.ended(error)
        }
    }
}
