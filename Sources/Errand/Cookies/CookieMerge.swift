import Foundation

/// What a jar and its file make of each other: of each cookie, the newest update counts, whoever saves last.
struct CookieMerge {
    /// The jar's cookies when the save began.
    let own: CookieStore
    /// Which of them changed since the save before.
    let unsaved: Set<Cookie.Key>
    /// When the save takes place.
    let date: Date
    /// Whether a cookie has no place in the file.
    let livesInMemory: (Cookie) -> Bool

    /// Merges the store with what others have made of the file.
    func result(with file: CookieStore) -> CookieStore {
        var file = file
        if own.cleared > file.cleared { file.clear(upTo: own.cleared, present: CookieStamp(date)) }
        var merged = file
        for entry in own.entries where counts(entry, in: file) {
            merged.put(entry.cookie, isFromSecureOrigin: entry.isFromSecureOrigin)
        }
        for (key, removal) in own.removals.all where counts(removal, of: key, in: file) {
            merged.remove(key, at: removal.stamp, isSecure: removal.isSecure)
        }
        merged.evict()
        return merged
    }

    private func counts(_ entry: CookieStore.Entry, in file: CookieStore) -> Bool {
        let (cookie, key) = (entry.cookie, entry.cookie.key)
        guard cookie.updated > file.cleared else { return false }
        let isUnsaved = unsaved.contains(key)
        // What this jar could not know: the file has a Secure cookie that the insecure server must not hide.
        if isUnsaved, !entry.isFromSecureOrigin, file.shadowsSecureCookie(cookie) { return false }
        // Another process that has the cookie no longer has removed it, unless it never had it.
        guard let theirs = file.lastUpdate(of: key) else { return isUnsaved || livesInMemory(cookie) }
        return cookie.updated > theirs || cookie.isSecure && file.removals[key]?.isSecure == false
    }

    private func counts(_ removal: CookieRemovals.Removal, of key: Cookie.Key, in file: CookieStore) -> Bool {
        guard removal.stamp > file.cleared else { return false }
        if file[key]?.isSecure == true, !removal.isSecure { return false }
        return file.lastUpdate(of: key).map { removal.stamp > $0 } ?? true
    }
}

extension CookieStore {
    /// Takes over what a save has made of the file.
    ///
    /// - Parameters:
    ///   - merged: What the file holds now, and what lives in memory alone.
    ///   - changed: The cookies that changed while the save went on, which stay unless the file has something newer.
    /// - Returns: The cookies of which the file has an older update.
    mutating func adopt(_ merged: CookieStore, changed: Set<Cookie.Key>) -> [Cookie.Key] {
        clear(upToLogoutOf: merged)
        let kept = dropRemoved(in: merged, changed: changed)
        for key in removals.all.keys where merged.removals[key] == nil && !changed.contains(key) {
            forgetRemoval(of: key)
        }
        for (key, removal) in merged.removals.all where isNewer(removal.stamp, of: key) {
            remove(key, at: removal.stamp, isSecure: removal.isSecure)
        }
        for key in merged.removals.all.keys { markSavedRemoval(of: key) }
        let unsaved = kept + merged.entries.compactMap { adopt($0) }
        evict()
        return unsaved
    }

    /// Drops the cookies that are not in the file, and returns those that were set again after their removal there.
    private mutating func dropRemoved(in merged: CookieStore, changed: Set<Cookie.Key>) -> [Cookie.Key] {
        var kept: [Cookie.Key] = []
        for cookie in cookies where merged[cookie.key] == nil && !changed.contains(cookie.key) {
            if let removal = merged.removals[cookie.key], removal.stamp < cookie.updated {
                kept.append(cookie.key)
            } else {
                drop(cookie.key)
            }
        }
        return kept
    }

    private mutating func clear(upToLogoutOf merged: CookieStore) {
        guard merged.cleared > cleared else { return }
        let present = CookieStamp(Date.distantFuture)
        clear(upTo: merged.cleared, present: present)
    }

    private mutating func adopt(_ entry: Entry) -> Cookie.Key? {
        let (cookie, key) = (entry.cookie, entry.cookie.key)
        let isKnown = self[key].map { $0.updated == cookie.updated && $0.hasSameContent(as: cookie) } ?? false
        if !isKnown, isNewer(cookie.updated, of: key) {
            put(cookie, isFromSecureOrigin: entry.isFromSecureOrigin)
        }
        return markSaved(cookie) ? key : nil
    }

    private func isNewer(_ stamp: CookieStamp, of key: Cookie.Key) -> Bool {
        lastUpdate(of: key).map { stamp >= $0 } ?? true
    }
}
