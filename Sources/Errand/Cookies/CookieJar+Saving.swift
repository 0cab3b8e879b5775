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
        let result = saving.sync { saveAndNote(to: file) }
        tell()
        _ = try result?.get()
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
        guard saveAndNote(to: file) != nil else { return }
        // A hook that saves or clears would wait here for this very queue.
        DispatchQueue.global(qos: .utility).async { self.tell() }
    }

    private func saveAndNote(to file: CookieFile) -> Result<[CookieFileError], CookieFileError>? {
        let result = save(to: file)
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
    private func save(to file: CookieFile) -> Result<[CookieFileError], CookieFileError>? {
        guard state.withLock(\.hasChanges) else { return nil }
        var taken: CookieChanges?
        do {
            return .success(
                try file.locked { () throws(CookieFileError) in
                    // Not before: what a logout through another jar ended while this one waited must not be written.
                    let (changes, agreed) = state.withLock { $0.takeChanges() }
                    taken = changes
                    return try merge(changes, agreed, into: file)
                }
            )
        } catch {
            // A logout has to hold even where the disk is too full to write an empty jar.
            let isLogout = state.withLock { $0.restore(taken) }
            if isLogout, error.kind != .cannotRead { file.remove() }
            scheduleRetry()
            return .failure(error)
        }
    }

    private func merge(
        _ changes: CookieChanges,
        _ agreed: UInt64?,
        into file: CookieFile
    ) throws(CookieFileError) -> [CookieFileError] {
        // Long after the jar was opened, too, its present limits what lives longest.
        let found = try file.findTidily(at: changes.date ?? .now, known: agreed)
        // The jar has it all where the file is as the jar left it, or gone: nobody decides anything by losing a file.
        let hasNews = (found.checksum != nil && found.checksum != agreed) || !found.cookies.isEmpty
        let cookies = hasNews && !isFileOver ? merged(changes, with: found) : self.cookies
        let bytes = CookieFileFormat.encode(cookies.filter(isKept))
        let written = CookieFileFormat.checksum(bytes)
        if written != found.checksum { try file.write(bytes) }
        state.withLock { state in
            state.agree(on: cookies, after: changes, read: found.checksum, written: written) { !isKept($0) }
        }
        return found.problems + cookies.compactMap { notRepresentable($0, in: file) }
    }

    /// What another process made of the file, and this one's changes to it.
    private func merged(_ changes: CookieChanges, with found: CookieFile.Found) -> [Cookie] {
        var store = CookieStore(found.cookies.compactMap(admitted), capacity: capacity)
        // Damage removes nothing either: what it took from the file is in memory.
        if found.damage != nil { for cookie in cookies { store.put(cookie) } }
        changes.apply(to: &store)
        return store.cookies
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
