import Foundation

/// Merges a jar's cookies with those of its file: for each cookie, the newest update wins, regardless of the order in which
/// jars save.
struct CookieMerge {
    /// The jar's cookies when the save began.
    let local: CookieStore
    /// The cookies that changed since the previous save.
    let unsaved: Set<Cookie.Key>
    /// The time of the save.
    let date: Date
    /// Whether a cookie is not written to the file.
    let isMemoryOnly: (Cookie) -> Bool

    /// The jar's cookies, with the changes that others have made in the file.
    func merged(with file: CookieStore) -> CookieStore {
        var file = file
        // Other processes may have stored cookies after `date`.
        let present = CookieTimestamp(max(date, .now))
        if local.cleared > file.cleared { file.clear(upTo: local.cleared, present: present) }
        var merged = file
        for entry in local.entries where wins(entry, over: file) {
            merged.insert(entry.cookie, isFromSecureOrigin: entry.isFromSecureOrigin)
        }
        for (key, removal) in local.removals.all where wins(removal, of: key, over: file) {
            merged.remove(key, at: removal.time, isSecure: removal.isSecure)
        }
        merged.evict()
        return merged
    }

    private func wins(_ entry: CookieStore.Entry, over file: CookieStore) -> Bool {
        let (cookie, key) = (entry.cookie, entry.cookie.key)
        guard cookie.updated > file.cleared else { return false }
        let isUnsaved = unsaved.contains(key)
        // The file has a Secure cookie of another process, which an insecure response must not hide.
        if isUnsaved, !entry.isFromSecureOrigin, file.shadowsSecureCookie(cookie) { return false }
        // A saved cookie that is missing in the file was removed by another process.
        guard let theirs = file.lastUpdate(of: key) else { return isUnsaved || isMemoryOnly(cookie) }
        return cookie.updated > theirs || cookie.isSecure && file.removals[key]?.isSecure == false
    }

    private func wins(_ removal: CookieRemovals.Removal, of key: Cookie.Key, over file: CookieStore) -> Bool {
        guard removal.time > file.cleared else { return false }
        if file[key]?.isSecure == true, !removal.isSecure { return false }
        return file.lastUpdate(of: key).map { removal.time > $0 } ?? true
    }
}

extension CookieStore {
    /// Takes over the result of a merge after it was saved.
    ///
    /// - Parameters:
    ///   - merged: The cookies in the file, and those that are in memory only.
    ///   - changed: The cookies that changed during the save; they are kept unless the file has a newer update.
    /// - Returns: The cookies of which the file has an older update.
    mutating func adopt(_ merged: CookieStore, changed: Set<Cookie.Key>) -> [Cookie.Key] {
        clear(upToLogoutOf: merged)
        let kept = discardRemoved(in: merged, changed: changed)
        for key in removals.all.keys where merged.removals[key] == nil && !changed.contains(key) {
            discardRemoval(key)
        }
        for (key, removal) in merged.removals.all where isNewer(removal.time, for: key) {
            remove(key, at: removal.time, isSecure: removal.isSecure)
        }
        for key in merged.removals.all.keys { markRemovalSaved(key) }
        let unsaved = kept + merged.entries.compactMap { adopt($0) }
        evict()
        return unsaved
    }

    /// Discards the cookies that are not in the file, and returns those that were set again after their removal there.
    private mutating func discardRemoved(in merged: CookieStore, changed: Set<Cookie.Key>) -> [Cookie.Key] {
        var kept: [Cookie.Key] = []
        for cookie in cookies where merged[cookie.key] == nil && !changed.contains(cookie.key) {
            if let removal = merged.removals[cookie.key], removal.time < cookie.updated {
                kept.append(cookie.key)
            } else {
                discard(cookie.key)
            }
        }
        return kept
    }

    private mutating func clear(upToLogoutOf merged: CookieStore) {
        guard merged.cleared > cleared else { return }
        clear(upTo: merged.cleared, present: CookieTimestamp(.distantFuture))
    }

    private mutating func adopt(_ entry: Entry) -> Cookie.Key? {
        let (cookie, key) = (entry.cookie, entry.cookie.key)
        let isKnown = self[key].map { $0.updated == cookie.updated && $0.hasSameContent(as: cookie) } ?? false
        if !isKnown, isNewer(cookie.updated, for: key) {
            insert(cookie, isFromSecureOrigin: entry.isFromSecureOrigin)
        }
        return markSaved(cookie) ? key : nil
    }

    private func isNewer(_ time: CookieTimestamp, for key: Cookie.Key) -> Bool {
        lastUpdate(of: key).map { time >= $0 } ?? true
    }
}
