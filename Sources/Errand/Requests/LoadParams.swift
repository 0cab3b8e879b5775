/// Where the parameters and the parts of a load come from, before the hooks of the request change them.
enum LoadParams: Sendable {
    /// The param source, which is called once for each load.
    case paramSource
    /// The call that begins the load; the param source is not called.
    case given(APIParams?, extras: Boxed<Extras>? = nil)

    /// What few loads have.
    struct Extras {
        var parts: [MultipartForm.Part] = []
        /// Precedes ``BaseAPIRequest/idempotencyKey``.
        var idempotencyKey: String?
    }
}

/// What ``BaseAPIRequest/loadAgain()`` sends again.
struct NewestParams {
    let id: RequestID
    let params: APIParams?
    private(set) var extras: Boxed<LoadParams.Extras>?

    init(id: RequestID, params: APIParams?) {
        (self.id, self.params) = (id, params)
    }

    /// Changes what few loads have.
    mutating func set<Value>(_ member: WritableKeyPath<LoadParams.Extras, Value>, _ value: Value) {
        var extras = extras?.wrappedValue ?? LoadParams.Extras()
        extras[keyPath: member] = value
        self.extras = Boxed(wrappedValue: extras)
    }

    /// The same for another load, with the key of this one unless that is spent.
    func again(isKeySpent: Bool) -> LoadParams {
        guard isKeySpent, var extras = extras?.wrappedValue else { return .given(params, extras: extras) }
        extras.idempotencyKey = nil
        return .given(params, extras: Boxed(wrappedValue: extras))
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
        case .given(_, let extras): form.parts += extras?.wrappedValue.parts ?? []
        }
        guard form.parts.count > count, newestParams?.id == id else { return }
        newestParams?.set(\.parts, Array(form.parts.dropFirst(count)))
    }

    /// Returns the key of a load, and keeps it for ``loadAgain()``.
    func idempotencyKey(from source: LoadParams, of id: RequestID) -> String? {
        var key: String?
        if case .given(_, let extras?) = source { key = extras.wrappedValue.idempotencyKey }
        key = key ?? idempotencyKey
        if key != nil, newestParams?.id == id { newestParams?.set(\.idempotencyKey, key) }
        return key
    }
}

extension APIError {
    /// Whether the server may have executed the request, or may still do so: it has neither refused it nor reported success.
    fileprivate var leavesOutcomeOpen: Bool {
        switch type {
        case .server: false
        // Too slow, another one runs, too early, and too many.
        case .http: status.map { !(400..<500 ~= $0) || [408, 409, 425, 429].contains($0) } ?? true
        default: true
        }
    }
}
