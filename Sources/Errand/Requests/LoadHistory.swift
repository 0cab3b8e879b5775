import Foundation

/// What the caller of a load sends, before the hooks of the request change it.
struct LoadInput: Sendable {
    static let paramSource = LoadInput(isFromSource: true)

    var params: APIParams?
    var parts: [MultipartForm.Part] = []
    /// Precedes ``APIRequestOptions/idempotencyKey``.
    var idempotencyKey: String?
    /// That of the load which has sent it, if that has a key or may have changed something on the server.
    var origin: LoadOrigin?
    fileprivate(set) var isFromSource = false
    /// What the param source has returned already.
    var sourceParams: APIParams??
    /// Of the first page of a list, for the pages that are added to it.
    var path: String?
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
        origin?.session.isOfSameAccount(as: session) == true ? idempotencyKey : nil
    }
}

/// What a load is one of, besides its parameters.
///
/// A class, because the load has it, and its request twice.
final class LoadOrigin: Sendable {
    let method: HTTPMethod
    let path: String
    let session: UserSession
    private let relogins: Int?

    init(_ draft: RequestDraft, _ service: APIService?, _ cookies: CookieJar) {
        (method, path) = (draft.method, draft.path)
        (session, relogins) = (UserSession(of: service, cookies), service?.login.relogins)
    }

    /// Whether the response to one is that to the other.
    func hasSameResponse(as other: LoadOrigin) -> Bool {
        isSame(as: other) && session == other.session && relogins == other.relogins
    }

    /// Whatever the login is that a load has begun with: it is sent with the current one.
    func isSame(as other: LoadOrigin) -> Bool {
        method == other.method && path == other.path && session.isOfSameAccount(as: other.session)
    }
}

/// Which loads of a request are the newest, and what ``BaseAPIRequest/loadAgain()`` sends.
struct LoadHistory {
    private(set) var newestEndedID: RequestID?
    private var newestResponse: RequestID?
    private(set) var newestSuccess: RequestID?
    private var newestLookup: RequestID?
    /// The newest one that sends nothing.
    private(set) var formerLoad: RequestID?
    private var newestInput: (id: RequestID, input: LoadInput, origin: LoadOrigin)?
    /// What the response of the request was loaded with; `nil` if that is not known.
    private var content: (params: APIParams?, origin: LoadOrigin, response: APIResponse)?

    var inputAgain: LoadInput? { newestInput?.input }

    /// The param source may have begun a newer load, whose input stays.
    ///
    /// Of a load that sends the newest one again, which may be cancelled before its hooks are read, the parts and the key stay.
    mutating func keep(_ params: APIParams?, of input: LoadInput, id: RequestID, from origin: LoadOrigin) {
        if let newestInput, newestInput.id > id { return }
        var kept = input
        (kept.params, kept.isFromSource, kept.sourceParams) = (params, false, nil)
        newestInput = (id, kept, origin)
    }
    /// For a load that sends nothing: `params` are those of the newest success, perhaps with its parts.
    mutating func keepFormer(_ params: APIParams?, of id: RequestID, from origin: LoadOrigin) {
        formerLoad = id
        guard let newestInput, newestInput.id == newestSuccess else {
            return keep(params, of: LoadInput(origin: origin), id: id, from: origin)
        }
        self.newestInput = (id, newestInput.input, origin)
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
    mutating func recordSuccess(_ id: RequestID, _ response: APIResponse?, from origin: LoadOrigin) -> Bool {
        guard id.replaceIfNewer(&newestSuccess) else { return false }
        content = nil
        if let response, let newestInput, newestInput.id == id {
            content = (newestInput.input.params, origin, response)
        }
        return true
    }

    /// The list has not taken the page.
    mutating func removeContent() { content = nil }

    /// Returns the response of the request if it, and what was received at `start`, is no older than `maxAge`, and of the same
    /// parameters and session.
    func content(of wanted: WantedLoad, maxAge: Duration, since start: Duration?, at uptime: Duration) -> APIResponse? {
        guard let content, content.origin.hasSameResponse(as: wanted.origin),
            let receivedAt = content.response.receivedAt, uptime - min(start ?? receivedAt, receivedAt) <= maxAge
        else { return nil }
        // The app may have moved it, as is usual for a temporary one.
        if let file = content.response.file, stat(ofTarget: file.path) == nil { return nil }
        guard wanted.hasSameParams(as: content.params) else { return nil }
        return content.response.from(.cache, age: uptime - receivedAt, at: uptime)
    }

    /// Whether a load is in its hooks, and what it sends is not known yet.
    func isBeginning(_ id: RequestID) -> Bool { newestInput.map { $0.id < id } ?? true }

    /// Whether a load that has not ended, and is the newest one, sends what is wanted.
    func sends(_ wanted: WantedLoad, in id: RequestID) -> Bool {
        guard let newestInput, newestInput.id == id, newestInput.origin.isSame(as: wanted.origin) else { return false }
        return wanted.hasSameParams(as: newestInput.input.params)
    }

    /// Whether a load is one of another environment, or of another jar, as each account has its own.
    func isElsewhere(_ id: RequestID, than session: UserSession) -> Bool {
        guard let newestInput, newestInput.id == id else { return false }
        return newestInput.origin.session.isElsewhere(than: session)
    }
}

/// What a load would send that may not be needed.
struct WantedLoad {
    let params: APIParams?
    let origin: LoadOrigin
    let encoder: JSONEncoder

    fileprivate func hasSameParams(as other: APIParams?) -> Bool {
        let (old, new) = (try? other?.json(with: encoder), try? params?.json(with: encoder))
        return old == new && (other == nil) == (params == nil)
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
