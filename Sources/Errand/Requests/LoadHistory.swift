import Foundation

/// What the caller of a load sends, before the hooks of the request change it.
struct LoadInput: Sendable {
    static let paramSource = LoadInput(isFromSource: true)

    var params: APIParams?
    var parts: [MultipartForm.Part] = []
    /// Precedes ``APIRequestOptions/idempotencyKey``.
    var idempotencyKey: String?
    /// Of the load that has sent it, if that has a key or may have changed something on the server; boxed, because most have not.
    var session: Boxed<UserSession>?
    fileprivate(set) var isFromSource = false
    /// What the param source has returned already.
    var sourceParams: APIParams??
}

extension LoadInput {
    init(_ params: RequestParams) {
        switch params {
        case .source: self = .paramSource
        case .given(let params): self.init(params: params)
        }
    }

    /// The key, unless it is one of another session, in which the server might find the order of another account by it.
    func key(in session: UserSession) -> String? {
        self.session?.wrappedValue.isOfSameAccount(as: session) == true ? idempotencyKey : nil
    }
}

/// What a load is one of, besides its parameters.
struct LoadOrigin: Equatable {
    let method: HTTPMethod
    let path: String
    let session: UserSession
    /// Another one after a relogin.
    private let generation: Int?

    init(_ draft: RequestDraft, _ service: APIService?, _ cookies: CookieJar) {
        (method, path) = (draft.method, draft.path)
        (session, generation) = (UserSession(of: service, cookies), service?.login.generation)
    }
}

/// Which loads of a request are the newest, and what ``BaseAPIRequest/loadAgain()`` sends.
struct LoadHistory {
    private(set) var newestEndedID: RequestID?
    private var newestResponse: RequestID?
    private(set) var newestSuccess: RequestID?
    private var newestLookup: RequestID?
    private var newestInput: (id: RequestID, input: LoadInput)?
    /// What the response of the request was loaded with, and when it was received; `nil` if that is not known.
    private var content: (params: APIParams?, origin: LoadOrigin, response: APIResponse)?

    var inputAgain: LoadInput? { newestInput?.input }

    /// The param source may have begun a newer load, whose input stays.
    ///
    /// Of a load that sends the newest one again, which may be cancelled before its hooks are read, the parts and the key stay.
    mutating func keep(_ params: APIParams?, of input: LoadInput? = nil, id: RequestID) {
        if let newestInput, newestInput.id > id { return }
        var kept = input ?? LoadInput()
        (kept.params, kept.isFromSource, kept.sourceParams) = (params, false, nil)
        newestInput = (id, kept)
    }
    /// For a load that sends nothing: `params` are those of the newest success, perhaps with its parts.
    mutating func keepFormer(_ params: APIParams?, of id: RequestID) {
        guard let newestInput, newestInput.id == newestSuccess else {
            let session = content.map { Boxed(wrappedValue: $0.origin.session) }
            return keep(params, of: LoadInput(session: session), id: id)
        }
        self.newestInput = (id, newestInput.input)
    }
    mutating func keep(of id: RequestID, _ change: (inout LoadInput) -> Void) {
        guard var newest = newestInput, newest.id == id else { return }
        change(&newest.input)
        newestInput = newest
    }

    mutating func removeInput() { (newestInput, content) = (nil, nil) }

    /// Removes the input of what is not a load, unless a load has begun since.
    mutating func removeInput(of id: RequestID, restoring former: LoadHistory) {
        if newestInput?.id == id { newestInput = former.newestInput }
    }

    // An older ending never replaces a newer one of its kind.

    mutating func recordEnding(_ id: RequestID, _ error: APIError?) -> Bool {
        // Its key is spent.
        if newestInput?.id == id, error?.leavesOutcomeOpen != true { newestInput?.input.idempotencyKey = nil }
        return id.replaceIfNewer(&newestEndedID)
    }
    mutating func recordResponse(_ id: RequestID) -> Bool { id.replaceIfNewer(&newestResponse) }
    mutating func recordLookup(_ id: RequestID) -> Bool { id.replaceIfNewer(&newestLookup) }
    /// `origin` is `nil` for a load that ends with the response that there is, and leaves that as it is.
    mutating func recordSuccess(_ id: RequestID, _ response: APIResponse?, from origin: LoadOrigin?) -> Bool {
        guard id.replaceIfNewer(&newestSuccess), let origin else { return false }
        content = nil
        if let response, let newestInput, newestInput.id == id {
            content = (newestInput.input.params, origin, response)
        }
        return true
    }

    /// The list has not taken the page.
    mutating func removeContent() { content = nil }

    /// Returns the response of the request if it is no older than `maxAge`, and of the same parameters and session.
    func content(
        of params: APIParams?,
        from origin: LoadOrigin,
        maxAge: Duration,
        at uptime: Duration,
        encoder: JSONEncoder
    ) -> APIResponse? {
        guard let content, content.origin == origin, let receivedAt = content.response.receivedAt,
            uptime - receivedAt <= maxAge
        else {
            return nil
        }
        // The app may have moved it, as is usual for a temporary one.
        if let file = content.response.file, stat(ofTarget: file.path) == nil { return nil }
        let (old, new) = (try? content.params?.json(with: encoder), try? params?.json(with: encoder))
        guard old == new, (content.params == nil) == (params == nil) else { return nil }
        return content.response.from(.cache, age: uptime - receivedAt, at: uptime)
    }
}

extension RequestID {
    fileprivate func replaceIfNewer(_ newest: inout RequestID?) -> Bool {
        if let newest, newest >= self { return false }
        newest = self
        return true
    }
}

extension APIError {
    /// Whether the server may have executed the request, or may still do so: it has neither refused it nor reported success.
    fileprivate var leavesOutcomeOpen: Bool {
        guard [.http, .server].contains(type), let status else { return true }
        // Too slow, another one runs, too early, and too many.
        if 400..<500 ~= status { return [408, 409, 425, 429].contains(status) }
        return type == .http || !(200..<300 ~= status)
    }
}
