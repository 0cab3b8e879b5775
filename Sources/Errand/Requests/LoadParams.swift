/// Where the parameters and the parts of a load come from, before the hooks of the request change them.
enum LoadParams: Sendable {
    /// The param source, which is asked once for each load.
    case paramSource
    /// The call that begins the load; the param source is not asked.
    case given(APIParams?, parts: [MultipartForm.Part] = [])
}

/// What ``BaseAPIRequest/loadAgain()`` sends again.
struct NewestParams {
    let id: RequestID
    var params: APIParams?
    var parts: [MultipartForm.Part] = []

    /// The same for another load.
    var again: LoadParams { .given(params, parts: parts) }
}

extension BaseAPIRequest {
    /// Returns the parameters of a load, and keeps them for ``loadAgain()``.
    func params(from source: LoadParams, of id: RequestID) -> APIParams? {
        let params: APIParams? =
            switch source {
            case .paramSource: paramSource?.params(for: self)
            case .given(let params, _): params
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
        case .given(_, let parts): form.parts += parts
        }
        if newestParams?.id == id { newestParams?.parts = Array(form.parts.dropFirst(count)) }
    }
}
