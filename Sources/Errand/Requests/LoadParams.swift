/// Where the parameters and the parts of a load come from, before the hooks of the request change them.
enum LoadParams: Sendable {
    /// The param source, which is asked once for each load.
    case paramSource
    /// The call that begins the load; the param source is not asked.
    /// With a key that is not `nil`, ``BaseAPIRequest/idempotencyKey`` is not asked either.
    case given(APIParams?, parts: [MultipartForm.Part] = [], idempotencyKey: String? = nil)
}

/// What ``BaseAPIRequest/loadAgain()`` sends again.
struct NewestParams {
    let id: RequestID
    var params: APIParams?
    var parts: [MultipartForm.Part] = []
    var idempotencyKey: String?

    /// The same for another load, with the key of this one unless that is spent.
    func again(isKeySpent: Bool) -> LoadParams {
        .given(params, parts: parts, idempotencyKey: isKeySpent ? nil : idempotencyKey)
    }
}

extension BaseAPIRequest {
    /// What ``loadAgain()`` sends; the parameters of the param source if there is no load yet.
    var paramsToLoadAgain: LoadParams {
        guard let newest = newestParams else { return .paramSource }
        return newest.again(isKeySpent: newestEnding == newest.id && error?.leavesOutcomeOpen != true)
    }

    /// Returns the parameters of a load, and keeps them for ``loadAgain()``.
    func params(from source: LoadParams, of id: RequestID) -> APIParams? {
        let params: APIParams? =
            switch source {
            case .paramSource: paramSource?.params(for: self)
            case .given(let params, _, _): params
            }
        // The param source may have begun a load, which is newer.
        if newestParams.map({ $0.id < id }) != false { newestParams = NewestParams(id: id, params: params) }
        return params
    }

    /// Adds the parts of a load, after those of ``appendParts(to:)``, and keeps them for ``loadAgain()``.
    func appendParts(to form: inout MultipartForm, from source: LoadParams, of id: RequestID) {
        let count = form.parts.count
        switch source {
        case .paramSource: paramSource?.appendParts(to: &form, for: self)
        case .given(_, let parts, _): form.parts += parts
        }
        if newestParams?.id == id { newestParams?.parts = Array(form.parts.dropFirst(count)) }
    }

    /// Returns the key of a load, and keeps it for ``loadAgain()``.
    func idempotencyKey(from source: LoadParams, of id: RequestID) -> String? {
        var key: String?
        if case .given(_, _, let given) = source { key = given }
        key = key ?? idempotencyKey
        if newestParams?.id == id { newestParams?.idempotencyKey = key }
        return key
    }
}

extension APIError {
    /// Whether the server may have executed the request, or may still do so: it has neither refused it nor reported success.
    fileprivate var leavesOutcomeOpen: Bool {
        switch type {
        case .server, .invalidRequest: false
        // Too slow, another one runs, too early, and too many.
        case .http: status.map { !(400..<500 ~= $0) || [408, 409, 425, 429].contains($0) } ?? true
        default: true
        }
    }
}
