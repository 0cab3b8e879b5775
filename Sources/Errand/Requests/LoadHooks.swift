import Foundation

// What the hooks of a request return for one load.

extension BaseAPIRequest {
    var serviceForNewLoad: APIService? {
        let owner = ReloginScope.loginOwner.flatMap { namesProxy && $0.proxy !== proxy ? nil : $0.service }
        return APIService.forNewLoad(service, inheriting: owner, or: proxy.defaultService)
    }

    func params(from input: LoadInput, of id: RequestID, _ origin: LoadOrigin) -> APIParams? {
        let params = input.isFromSource ? input.sourceParams ?? paramSource?.params(for: self) : input.params
        history.keep(params, of: input, id: id, from: origin)
        return params
    }

    func form(for draft: RequestDraft, _ input: LoadInput, of id: RequestID) throws(APIError) -> MultipartForm? {
        let isMultipart = draft.serializer.isMultipart
        // A boundary costs as much as the rest, and most loads have no parts.
        var form = isMultipart ? MultipartForm() : MultipartForm(boundary: "")
        appendParts(to: &form)
        let count = form.parts.count
        if input.isFromSource { paramSource?.appendParts(to: &form, for: self) } else { form.parts += input.parts }
        if form.parts.count > count { history.keep(of: id) { $0.parts = Array(form.parts.dropFirst(count)) } }
        guard !form.parts.isEmpty else { return isMultipart ? form : nil }
        guard isMultipart else {
            throw APIError(.invalidRequest, reason: "there are parts, but the requestSerializer is not .multipart")
        }
        guard draft.serializer.allowsBody(of: draft.method) else {
            throw APIError(.invalidRequest, reason: "there are parts, but \(draft.method) sends no body")
        }
        return form
    }

    /// The jar is read now: a later change of the account does not affect the load.
    func prepare(
        _ service: APIService?,
        with options: APIRequestOptions,
        as role: LoginRole
    ) throws(APIError) -> (APIService, CookieJar) {
        guard var service else {
            throw APIError(.invalidRequest, reason: "there is no service: set defaultService of the proxy")
        }
        // With a cache, a stored response may be used.
        if options.failsWhenUnreachable, proxy.cache == nil, proxy.reachability.status == .unreachable {
            throw APIError(.noNetwork, reason: "there is no network, and failsWhenUnreachable is true")
        }
        let cookies = proxy.jar(for: service)
        // Before the changes of this request.
        if !role.isLoginRequest { service.setLoginOwner(sentBy: proxy, with: proxy.jar(for: nil)) }
        if var envelope = options.envelope {
            // An error that is not wrapped may have a code of the service.
            if envelope.isWholeBody { envelope.loginExpiredCodes = service.envelope?.loginExpiredCodes ?? [] }
            service.envelope = envelope
        }
        if !options.adapters.isEmpty { service.adapters.append(options.adapters) }
        if role.isLoginRequest {
            // A refused sign-in is a wrong password, not an expired login.
            (service.loginExpiredStatuses, service.isLoginExpired) = ([], nil)
            service.envelope?.loginExpiredCodes = []
            service.failureReader = service.failureReader?.ofLoginRequest
        } else {
            service.login.readRenewalDate(for: service)
        }
        return (service, cookies)
    }
}

extension BaseAPIRequest {
    /// `nil` without a cache.
    func cacheUse(
        of service: APIService,
        _ cookies: CookieJar,
        with options: APIRequestOptions,
        as role: LoginRole,
        sending draft: RequestDraft,
        isStream: Bool,
        show: CacheUse.ShowHandler?
    ) throws(APIError) -> CacheUse? {
        var policy = options.cachePolicy
        guard !policy.isRule || draft.form == nil else {
            throw APIError(.invalidRequest, reason: "the cachePolicy is not for a request with parts of a form")
        }
        guard policy != .first || draft.destination == .memory else {
            throw APIError(.invalidRequest, reason: "the cachePolicy shows no file, which the load would replace")
        }
        if isStream || options.resumesDownload || role.isLoginRequest || proxy.cache == nil {
            guard !policy.isRule, policy != .onlyIfCached else {
                let reason =
                    "the cachePolicy needs stored responses, and there are none: the proxy has no cache, or the request"
                throw APIError(.invalidRequest, reason: "\(reason) is a stream, a resumable download or a sign-in")
            }
            policy = .bypass
        }
        guard let cache = proxy.cache else { return nil }
        let isReloading = pager?.isReloading ?? hooks?.wrappedValue.isReloading ?? false
        let session = CacheSession.name(of: service, cookies, sendsCookies: options.sendsCookies)
        return CacheUse(
            policy: policy,
            cache: cache,
            folder: cache.session(session),
            isReloading: isReloading,
            // A list keeps its items if it cannot be reloaded.
            usesStale: policy != .reload && (!isReloading || pager?.hasPages == false),
            failsWithoutNetwork: options.failsWhenUnreachable && proxy.reachability.status == .unreachable,
            storesAdapted: service.cachesAdaptedResponses,
            show: isReloading ? nil : show
        )
    }
}

extension LoginRole {
    @MainActor init(of request: BaseAPIRequest, for service: APIService?) {
        let isInRelogin = service.map { ReloginScope.covers($0.login) } == true
        self = isInRelogin ? .partOfRelogin : request.isLoginRequest ? .signIn : .none
    }
}
