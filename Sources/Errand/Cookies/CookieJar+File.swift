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
        let report = saving.sync { save(to: file) }
        tell(report)
        if let failure = report.failure { throw failure }
    }

    /// Reads the file, once, before anything else knows of the jar.
    func load() {
        guard let file else { return }
        let (found, problems) = find(in: file)
        tell(SaveReport(problems: problems))
        change { $0.load(found.cookies.compactMap(admitted), from: found, at: opened) }
        LiveJars.add(self)
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
        tell(save(to: file))
    }

    private func find(in file: CookieFile) -> (CookieFile.Found, [CookieFileError]) {
        do {
            let found = try file.find(at: opened)
            guard found.damage != nil || file.hasTemporary else { return (found, []) }
            do {
                let tidied = try file.locked { () throws(CookieFileError) in try file.findTidily(at: opened) }
                return (tidied, tidied.problems)
            } catch {
                return (found, [error])
            }
        } catch {
            return (CookieFile.Found(), [error])
        }
    }

    private func save(to file: CookieFile) -> SaveReport {
        let changes = state.withLock { $0.takeChanges() }
        guard !changes.isEmpty else { return SaveReport() }
        do {
            let problems = try file.locked { () throws(CookieFileError) in try merge(changes, into: file) }
            return SaveReport(problems: problems, hasSaved: true)
        } catch {
            if changes.isClear, error.kind != .cannotRead { file.remove() }
            state.withLock { $0.restore(changes) }
            scheduleRetry()
            return SaveReport(problems: [error], failure: error)
        }
    }

    private func merge(_ changes: CookieChanges, into file: CookieFile) throws(CookieFileError) -> [CookieFileError] {
        let found = try file.findTidily(at: opened)
        var store = CookieStore(found.cookies.compactMap(admitted))
        // Where the file is gone or damaged, nobody decided to remove its cookies: those in memory are the best copy.
        if found.checksum == nil { for cookie in cookies { store.put(cookie) } }
        changes.apply(to: &store)
        let cookies = store.cookies
        let written = CookieFileFormat.encode(cookies.filter(isKept))
        try file.write(written)
        let checksum = CookieFileFormat.checksum(written)
        state.withLock { state in
            state.agree(on: cookies, read: found.checksum, written: checksum) { !isKept($0) }
        }
        return found.problems + cookies.compactMap { notRepresentable($0, in: file) }
    }

    /// Whether the file has a place for the cookie.
    private func isKept(_ cookie: Cookie) -> Bool {
        (sessionCookies == .keep || cookie.expires != nil) && CookieFileFormat.canRepresent(cookie)
    }

    private func notRepresentable(_ cookie: Cookie, in file: CookieFile) -> CookieFileError? {
        guard !CookieFileFormat.canRepresent(cookie) else { return nil }
        return CookieFileError(.notRepresentable, file.url, "the cookie \(cookie) has no name or a TAB")
    }

    private func tell(_ report: SaveReport) {
        let ended: Set<CookieFileError.Kind> = report.hasSaved ? [.cannotRead, .cannotWrite, .locked] : []
        let news = state.withLock { $0.unreported(report.problems, ended: ended) }
        for problem in news { onError?(problem) }
    }
}

/// What came of reading or writing the file.
private struct SaveReport {
    var problems: [CookieFileError] = []
    var failure: CookieFileError?
    var hasSaved = false
}
