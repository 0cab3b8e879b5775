import Foundation

/// Converts between the contents of a cookie file and the cookies of a jar.
struct CookieFileMapper: Sendable {
    let sessionCookies: CookieJar.SessionCookies
    let capacity: Int
    let suffixes: PublicSuffixList

    private var emptyStore: CookieStore {
        CookieStore(capacity: capacity, suffixes: suffixes, recordsRemovals: true)
    }

    // MARK: From the file

    /// The cookies of the file.
    ///
    /// Other programs write no timestamps. A cookie that they have not changed keeps the timestamp of `known`, the jar's
    /// cookies; any other was updated when the file was written.
    func store(from snapshot: CookieFileSnapshot, known: CookieStore? = nil) -> CookieStore {
        var store = emptyStore
        store.clear(upTo: snapshot.contents.cleared)
        for removal in snapshot.contents.removals {
            store.remove(removal.key, at: removal.time, isSecure: removal.isSecure)
        }
        for cookie in snapshot.contents.cookies.compactMap(accepted) {
            store.insert(withTimestamp(cookie, modified: snapshot.modified, saved: known?.entry(cookie.key)?.saved))
        }
        return store
    }

    /// The cookie as a jar stores it; `nil` for a cookie that no `Set-Cookie` can express.
    ///
    /// A domain that has become a public suffix makes the cookie a host-only one.
    private func accepted(_ cookie: Cookie) -> Cookie? {
        guard sessionCookies == .keep || cookie.expires != nil, SetCookieHeader.canExpress(cookie) else { return nil }
        var cookie = cookie
        cookie.isHostOnly = cookie.isHostOnly || suffixes.isPublicSuffix(cookie.domain)
        return cookie
    }

    private func withTimestamp(_ cookie: Cookie, modified: CookieTimestamp, saved: Cookie?) -> Cookie {
        guard cookie.updated == .never else { return cookie }
        if let saved, !cookie.isUpdate(of: saved) { return saved }
        var cookie = cookie
        cookie.created = saved?.created ?? cookie.created
        cookie.updated = max(min(modified, CookieTimestamp(.now)), saved?.updated.next ?? .never)
        return cookie
    }

    // MARK: To the file

    func contents(of store: CookieStore) -> CookieFileFormat.Contents {
        CookieFileFormat.Contents(
            cookies: store.cookies.filter(isSaved),
            removals: store.removals.all.map { .init(key: $0, time: $1.time, isSecure: $1.isSecure) },
            cleared: store.cleared
        )
    }

    /// Whether the cookie is written to the file.
    func isSaved(_ cookie: Cookie) -> Bool {
        (sessionCookies == .keep || cookie.expires != nil) && CookieFileFormat.canRepresent(cookie)
    }

    /// An error for each cookie that the format cannot express.
    func errors(for store: CookieStore, in file: CookieFile) -> [CookieFileError] {
        store.cookies.filter { !CookieFileFormat.canRepresent($0) }.map { cookie in
            let reason = "the cookie \(cookie) has no name or contains a TAB"
            return CookieFileError(.notRepresentable, file: file.url, reason: reason)
        }
    }
}

extension Cookie {
    /// Whether the fields of a `cookies.txt` differ, in which an expiry time is in whole seconds.
    fileprivate func isUpdate(of saved: Cookie) -> Bool {
        guard valueBytes == saved.valueBytes, isSecure == saved.isSecure, isHTTPOnly == saved.isHTTPOnly else {
            return true
        }
        guard let expires, let end = saved.expires else { return expires != saved.expires }
        return abs(expires.timeIntervalSince(end)) > 1
    }
}
