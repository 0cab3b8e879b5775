import Foundation

/// One lookup of a load in the cache, and what the response to its request changes in what is stored.
final class CacheLookup: Sendable {
    let request: HTTPRequest
    /// What is stored is compared with it: the request with its cookies, without adapters for the rules of an app.
    let keyRequest: HTTPRequest
    private let use: CacheUse
    let key: CacheKey?
    /// Whether it has passed over responses to requests with other lines.
    let hasOthers: Bool
    /// Whether it has found what a newer response replaces.
    private let hasFormer: Bool
    /// When the request was sent, or is about to be; and how many invalidations the lookup knows of: those before it, because it may
    /// already find nothing because of one, and those of its own response.
    private let state: Lock<(date: Date, invalidationCount: Int)>

    var date: Date { state.withLock(\.date) }
    private var folder: CacheFolder? { use.folder }
    private var isRule: Bool { use.policy.isRule }

    /// Finds what is stored; `entries` is `nil` for a request that the cache has nothing to do with.
    init(
        _ request: HTTPRequest,
        _ keyRequest: HTTPRequest,
        by use: CacheUse,
        at date: Date,
        _ entries: inout [CacheEntry]?
    ) throws(APIError) {
        (self.request, self.keyRequest, self.use) = (request, keyRequest, use)
        let isRule = use.policy.isRule
        state = Lock((date, use.folder?.invalidationCount ?? 0))
        key = use.policy == .bypass ? nil : isRule ? CacheKey(keyRequest, by: use.policy) : CacheKey(request.url)
        guard key != nil || use.policy == .bypass else {
            let reason = "the cachePolicy needs a body that is in memory, without parts, and no longer than 1 MiB"
            throw APIError(.invalidRequest, reason: reason)
        }
        var hasOthers = false
        if let key, isRule || [.get, .head].contains(request.method), let folder = use.folder {
            let isWanted = { (stored: StoredResponse) in
                let matches = stored.matches(keyRequest)
                hasOthers = hasOthers || !matches
                return matches
            }
            entries = ([key] + Self.partKeys(of: request, by: use)).flatMap { folder.entries($0, where: isWanted) }
        }
        (self.hasOthers, hasFormer) = (hasOthers, entries?.isEmpty == false)
    }

    /// That of the parts, where a part is asked for.
    private static func partKeys(of request: HTTPRequest, by use: CacheUse) -> [CacheKey] {
        use.policy.isRule || request.headers["Range"] == nil ? [] : [CacheKey(request.url, part: true)]
    }

    private var partKeys: [CacheKey] { Self.partKeys(of: request, by: use) }

    // MARK: After the exchange

    /// A load may have queued since the lookup; the exchange of a request to which a redirect has led began earlier.
    func didSend(at date: Date, isFollowed: Bool) {
        state.withLock { $0.date = isFollowed ? max($0.date, date) : date }
    }

    /// RFC 9111 section 4.4: what a request may have changed is not used any more.
    ///
    /// Each redirect is a response without an error, whatever the last one is.
    func invalidate(after response: APIResponse) {
        guard !request.method.isSafe, let folder else { return }
        let isOutdated = key.map(isInvalidated) ?? false
        var urls = response.redirects
        if (200..<400).contains(response.status) {
            urls += [request.url, response.url]
            for name in ["Location", "Content-Location"] {
                let reference = response.headers[name].flatMap { URLReference($0.utf8) }
                if let url = reference?.resolved(against: response.url) { urls.append(url) }
            }
        }
        for url in urls where url.hasSameOrigin(as: request.url) {
            for part in [false, true] { folder.invalidate(CacheKey(url, part: part)) }
        }
        // Its own response is newer than these.
        if !isOutdated {
            let count = folder.invalidationCount
            state.withLock { $0.invalidationCount = count }
        }
    }

    /// Whether another load has changed what is stored under a key since the lookup: the response may be older.
    ///
    /// No change invalidates what is stored by a rule.
    private func isInvalidated(_ key: CacheKey) -> Bool {
        !isRule && folder?.isInvalidated(key, after: state.withLock(\.invalidationCount)) == true
    }

    /// Stores what a 304 has confirmed, or removes it: where it is stored depends on the lines that it varies by.
    func update(_ entry: CacheEntry, to updated: StoredResponse) {
        guard let folder, !isInvalidated(entry.key) else { return }
        let former = entry.stored.headers
        guard isRule || CacheControl(updated.headers).mayBeStored,
            former.varyNames.isSuperset(of: updated.headers.varyNames)
        else { return folder.remove(entry) }
        var updated = updated
        updated.headers.remove("Vary")
        for line in former.values("Vary") { updated.headers.append(HTTPField("Vary", line)) }
        use.cache.update(entry, to: updated, in: folder)
        // Meanwhile.
        if isInvalidated(entry.key) { folder.remove(entry) }
    }

    /// RFC 9111 section 4.3.5: a response to `HEAD` updates or removes what is stored.
    func update(byHead response: APIResponse, at date: Date) {
        guard request.method == .head, use.policy != .bypass, !isRule, response.status == 200, let folder else {
            return
        }
        let key = CacheKey(request.url)
        guard !isInvalidated(key) else { return }
        for entry in folder.entries(key, where: { $0.selection.matches(keyRequest, language: nil) }) {
            let updated = entry.stored.updated(by: response.headers, requestDate: self.date, responseDate: date)
            if let updated, entry.stored.isSameRepresentation(as: response.headers) {
                update(entry, to: updated)
            } else {
                folder.remove(entry)
            }
        }
    }

    /// What was stored before the server has redirected to another address of its own is out of date.
    func didMove(to response: APIResponse) {
        guard request.method == .get, response.replacesFormer, response.url.hasSameOrigin(as: request.url),
            let folder, let key, !isInvalidated(key)
        else { return }
        removeFormer([key] + partKeys, in: folder)
    }

    /// Returns whether the response may be stored; if not, it may replace what was found.
    func store(_ response: APIResponse, at date: Date) -> Bool {
        guard let folder, let key else { return false }
        let stored = storable(response, at: date)
        // What was requested before a change is older than what may have been stored since.
        guard stored != nil || hasFormer, !isInvalidated(key) else { return false }
        guard var stored else {
            if isRule || request.method == .get, response.replacesFormer { removeFormer([key] + partKeys, in: folder) }
            return false
        }
        stored.isAdapted = use.storesAdapted
        if let file = response.file, let size = stat(ofTarget: file.path)?.st_size { stored.bodyLength = Int64(size) }
        let content = response.file.map { CacheContent.file($0) } ?? .data(response.body)
        let isPart = response.status == 206 && !isRule
        let storedKey = isPart ? CacheKey(request.url, part: true) : key
        use.cache.store(stored, content, storedKey, in: folder)
        // Meanwhile.
        if isInvalidated(key) { folder.remove(storedKey) }
        if response.replacesFormer { removeFormer(partKeys, in: folder) }
        return true
    }

    /// `nil` for what must not be stored.
    private func storable(_ response: APIResponse, at date: Date) -> StoredResponse? {
        // Most of what is not stored says so.
        guard isRule ? response.status != 304 : CacheControl(response.headers).mayBeStored,
            let stored = StoredResponse(response, to: keyRequest, requestDate: self.date, responseDate: date),
            isRule || stored.isStorable(for: request)
        else { return nil }
        return stored
    }

    /// Removes what was found, but not what another load has stored since.
    private func removeFormer(_ keys: [CacheKey], in folder: CacheFolder) {
        guard hasFormer else { return }
        for key in keys {
            let former = folder.entries(key) { [date] in $0.matches(keyRequest) && $0.responseDate <= date }
            for entry in former { folder.remove(entry) }
        }
    }

    /// Removes what was used or stored, for a response that the app refuses.
    var forget: (@Sendable () -> Void)? {
        guard let folder, let key else { return nil }
        // Called before the load ends; a response that is kept does not keep the folder open.
        return { [isRule, weak folder] in
            folder?.remove(key)
            if !isRule { folder?.remove(CacheKey(key.url, part: true)) }
        }
    }
}

extension APIResponse {
    /// Whether what is stored must not be used after it; a part and a refusal for the time being do not say so.
    fileprivate var replacesFormer: Bool { isSuccess && status != 206 || [404, 410].contains(status) }
}
