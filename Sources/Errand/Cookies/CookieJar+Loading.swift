import Foundation
import Synchronization

extension CookieJar {
    /// Reads the file, once; a logout through another jar of the file reaches this one from the beginning.
    func load() {
        guard let file else { return }
        let generation = generation
        LiveJars.add(self)
        // A logout before that could not reach this jar, and the file may not have it yet.
        let logouts = LiveJars.others(than: self).map { $0.state.withLock(\.store.cleared) }
        if let logout = logouts.max() { state.withLock { $0.begin(after: logout) } }
        var isUntidy = false
        do throws(CookieFileError) {
            let found = try file.find(at: opened)
            isUntidy = found.isDamaged || file.hasTemporary
            let store = store(of: found, knowing: emptyStore)
            state.withLock { $0.load(store, checksum: found.checksum, readIn: generation, at: opened) }
        } catch {
            state.withLock { $0.note([error], ended: []) }
        }
        if isUntidy { tidy(file) }
        tell()
    }

    private var emptyStore: CookieStore {
        CookieStore(capacity: capacity, suffixes: suffixes, remembersRemovals: true)
    }

    /// What is in the file, as the jar takes it, with a stamp for each update of another tool.
    func store(of found: CookieFile.Found, knowing own: CookieStore) -> CookieStore {
        var store = emptyStore
        store.clear(upTo: found.contents.cleared)
        for removal in found.contents.removals {
            store.remove(removal.key, at: removal.stamp, isSecure: removal.isSecure)
        }
        for cookie in found.contents.cookies.compactMap(admitted) {
            store.put(stamped(cookie, by: found, knowing: own.entry(cookie.key)?.saved))
        }
        return store
    }

    /// A cookie of the file as the jar takes it; what no `Set-Cookie` could have brought is not taken.
    ///
    /// A domain may have become a public suffix since; then the cookie goes to that host alone.
    private func admitted(_ cookie: Cookie) -> Cookie? {
        guard sessionCookies == .keep || cookie.expires != nil, SetCookie.canBring(cookie) else { return nil }
        var cookie = cookie
        cookie.isHostOnly = cookie.isHostOnly || suffixes.isPublicSuffix(cookie.domain)
        return cookie
    }

    /// What other tools write has no stamp: what they have left as it was, is as it was; the rest is as new as the file.
    private func stamped(_ cookie: Cookie, by found: CookieFile.Found, knowing saved: Cookie?) -> Cookie {
        guard cookie.updated == .never else { return cookie }
        if let saved, !cookie.isUpdate(of: saved) { return saved }
        var cookie = cookie
        cookie.created = saved?.created ?? cookie.created
        cookie.updated = max(min(found.modified, CookieStamp(.now)), saved?.updated.next ?? .never)
        return cookie
    }
}

extension Cookie {
    /// Whether the fields of a `cookies.txt` tell both apart; a file counts in whole seconds.
    fileprivate func isUpdate(of saved: Cookie) -> Bool {
        guard valueBytes == saved.valueBytes, isSecure == saved.isSecure, isHTTPOnly == saved.isHTTPOnly else {
            return true
        }
        guard let expires, let end = saved.expires else { return expires != saved.expires }
        return abs(expires.timeIntervalSince(end)) > 1
    }
}
