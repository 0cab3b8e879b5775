import Dispatch
import Foundation
import Synchronization

extension CookieJar {
    /// Saves are at least this far apart, unless somebody asks for one.
    private static let saveInterval = DispatchTimeInterval.milliseconds(200)
    private static let retryInterval = DispatchTimeInterval.seconds(5)

    /// Writes what the file does not have yet and returns when the disk has it; without such, nothing is written.
    ///
    /// Blocks for a few milliseconds, and up to two seconds when another process holds the lock.
    ///
    /// - Throws: Why the file could not be written; the jar goes on trying.
    public func flush() throws(CookieFileError) {
        guard let file else { return }
        let result = saving.sync { saveAndNote(to: file, .requested) }
        tell()
        _ = try result?.get()
    }

    /// Sets aside what is damaged, after its cookies are on the disk, and removes what an earlier save has left.
    func tidy(_ file: CookieFile) {
        saving.sync { _ = saveAndNote(to: file, .untidy) }
    }

    /// Saves after a while; the jar lives until then.
    func scheduleSave() {
        saving.asyncAfter(deadline: .now() + Self.saveInterval) { self.saveAsScheduled() }
    }

    private func scheduleRetry() {
        guard state.withLock({ $0.beginsSchedule() }) else { return }
        saving.asyncAfter(deadline: .now() + Self.retryInterval) { [weak self] in self?.saveAsScheduled() }
    }

    private func saveAsScheduled() {
        guard let file else { return }
        state.withLock { $0.endSchedule() }
        guard saveAndNote(to: file, .scheduled) != nil else { return }
        // A hook that saves or clears would wait here for this very queue.
        DispatchQueue.global(qos: .utility).async { self.tell() }
    }

    /// Why a save takes place.
    private enum Occasion {
        case scheduled
        case requested
        /// The file is damaged or has a temporary neighbour.
        case untidy
    }

    private func saveAndNote(
        to file: CookieFile,
        _ occasion: Occasion
    ) -> Result<[CookieFileError], CookieFileError>? {
        let result = save(to: file, occasion)
        switch result {
        case .success(let problems):
            state.withLock { $0.note(problems, ended: [.cannotRead, .cannotWrite, .locked]) }
        case .failure(let error):
            state.withLock { $0.note([error], ended: []) }
        case nil: break
        }
        return result
    }

    /// Makes the file say what the jar does.
    ///
    /// - Returns: What was in the way without preventing it; `nil` when there was nothing to do.
    private func save(
        to file: CookieFile,
        _ occasion: Occasion
    ) -> Result<[CookieFileError], CookieFileError>? {
        guard occasion == .untidy || state.withLock(\.hasChanges) else { return nil }
        var taken: CookieJarState.Unsaved?
        do {
            return .success(
                try file.locked { () throws(CookieFileError) in
                    // Not before: what a logout through another jar ended while this one waited must not be written.
                    let unsaved = state.withLock { $0.takeChanges() }
                    taken = unsaved
                    return try merge(unsaved, into: file, occasion)
                }
            )
        } catch {
            if state.withLock({ $0.restore(taken) }) { enforceLogout(on: file, after: error) }
            scheduleRetry()
            return .failure(error)
        }
    }

    /// Removes a file that could not be emptied: a logout has to hold even where the disk is full.
    private func enforceLogout(on file: CookieFile, after error: CookieFileError) {
        guard error.kind != .cannotRead else { return }
        let logout = state.withLock(\.store.cleared)
        // Another jar may have written the logout, and what came after it.
        if let contents = try? file.find(at: .now).contents, contents.cleared >= logout { return }
        file.remove()
    }

    private func merge(
        _ unsaved: CookieJarState.Unsaved,
        into file: CookieFile,
        _ occasion: Occasion
    ) throws(CookieFileError) -> [CookieFileError] {
        file.removeTemporary()
        let date = unsaved.changes.date ?? .now
        // Long after the jar was opened, too, its present limits what lives longest.
        let found = try file.find(at: date, known: unsaved.agreed)
        let isUnchanged = !found.isDamaged && found.checksum == unsaved.agreed
        if isUnchanged, unsaved.isRepetition, occasion != .requested {
            _ = state.withLock { $0.restore(unsaved) }
            return []
        }
        let merged = merged(unsaved, with: found, at: date)
        let problems = found.isDamaged ? [try file.setAside(found)] : []
        let contents = contents(merged)
        let bytes = CookieFileFormat.encode(contents)
        let written = CookieFileFormat.checksum(bytes)
        if written != found.checksum, found.isInPlace || !contents.isEmpty { try file.write(bytes) }
        state.withLock { $0.agree(on: merged, after: unsaved.changes, written: written) }
        return problems + merged.cookies.compactMap { notRepresentable($0, in: file) }
    }

    /// What the jar and its file make of each other.
    private func merged(_ unsaved: CookieJarState.Unsaved, with found: CookieFile.Found, at date: Date) -> CookieStore {
        var merged = unsaved.store
        // The jar has it all where the file is as the jar left it, or gone: losing a file is no decision.
        if found.checksum != nil && found.checksum != unsaved.agreed || !found.contents.isEmpty {
            // Damage removes nothing either: what it took from the file is in memory.
            let keys = found.isDamaged ? Set(merged.cookies.map(\.key)) : unsaved.changes.keys
            merged = CookieMerge(own: merged, unsaved: keys, date: date) { !self.isKept($0) }
                .result(with: store(of: found, knowing: merged))
        }
        if let date = unsaved.changes.date { merged.removeExpired(at: date) }
        merged.removeOldRemovals(at: date)
        return merged
    }

    private func contents(_ store: CookieStore) -> CookieFileFormat.Contents {
        CookieFileFormat.Contents(
            cookies: store.cookies.filter(isKept),
            removals: store.removals.all.map { .init(key: $0, stamp: $1.stamp, isSecure: $1.isSecure) },
            cleared: store.cleared
        )
    }

    /// Whether the file has a place for the cookie.
    private func isKept(_ cookie: Cookie) -> Bool {
        (sessionCookies == .keep || cookie.expires != nil) && CookieFileFormat.canRepresent(cookie)
    }

    private func notRepresentable(_ cookie: Cookie, in file: CookieFile) -> CookieFileError? {
        guard !CookieFileFormat.canRepresent(cookie) else { return nil }
        return CookieFileError(.notRepresentable, file.url, "the cookie \(cookie) has no name or a TAB")
    }
}
