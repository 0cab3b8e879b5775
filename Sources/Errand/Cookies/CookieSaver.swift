import Dispatch
import Foundation

/// Loads the cookies of a jar from its file, and saves its changes: on request, or a moment after a change.
///
/// A scheduled save retains the saver, so that the changes of a released jar are saved.
final class CookieSaver: Sendable {
    private static let saveInterval = DispatchTimeInterval.milliseconds(200)
    private static let retryInterval = DispatchTimeInterval.seconds(5)
    private static let refreshInterval = Duration.seconds(1)

    let file: CookieFile
    private let state: SharedCookieJarState
    private let errorReporter: ProblemReporter<CookieFileError>
    private let readInterval: Duration
    /// When ``refresh(at:date:)`` last looked at the file, and what it has read.
    private let look = Lock<(uptime: Duration?, version: [UInt64]?)>((nil, nil))
    private let queue = DispatchQueue(label: "errand.cookies", qos: .utility)

    init(
        file: URL,
        state: SharedCookieJarState,
        errorReporter: ProblemReporter<CookieFileError>,
        readInterval: Duration = .seconds(5)
    ) {
        self.file = CookieFile(file, capacity: state.present.store.capacity)
        self.state = state
        self.errorReporter = errorReporter
        self.readInterval = readInterval
    }

    /// Called once; `date` is the present, at which the file's cookies are expired or not.
    func load(at date: Date) {
        CookieJarRegistry.register(self)
        // Logouts from before the registration, which may not have been saved yet.
        for saver in CookieJarRegistry.savers(sharingFileOf: self) {
            let logout = saver.state.present.cleared
            state.withLock { $0.clear(upTo: logout) }
        }
        let before = state.present
        do throws(CookieFileError) {
            let snapshot = before.accepted(try file.read(at: date))
            _ = state.withLock { $0.adopt(snapshot, readAfter: before, at: date) }
            // Or an interrupted save has left its temporary file.
            let isIncomplete = stat(ofEntry: file.temporaryPath) != nil
            if snapshot.isDamaged || isIncomplete { queue.sync { _ = save(repairedAt: date) } }
        } catch {
            errorReporter.record([error])
            readLater(after: readInterval)
        }
        errorReporter.report()
    }

    /// Reads a file again that could not be read, until it can: that of an app is protected until its device is first unlocked.
    ///
    /// What has changed meanwhile is kept. The interval grows to five minutes.
    private func readLater(after interval: Duration) {
        queue.asyncAfter(deadline: .now() + interval / .seconds(1)) { [weak self] in
            guard let self else { return }
            let result = save(repairedAt: .now)
            // Not on this queue, as for a scheduled save.
            DispatchQueue.global(qos: .utility).async { self.errorReporter.report() }
            guard case .failure? = result else { return }
            readLater(after: min(interval * 2, .seconds(300)))
        }
    }

    /// Reads the file again if others have written it, at most once in a second of `uptime`, a clock that never decreases.
    ///
    /// Does not wait for the lock: the file is replaced as a whole, and one that is being written is damaged, and read again
    /// when it has changed. A save that runs meanwhile takes over the changes instead.
    func refresh(at uptime: Duration, date: Date) {
        let isDue = look.withLock { look in
            // The clock of another proxy may have begun later.
            if let last = look.uptime, (.zero..<Self.refreshInterval).contains(uptime - last) { return false }
            look.uptime = uptime
            return true
        }
        if isDue { refresh(at: date) }
    }

    /// Takes over what other processes have saved, if the file has changed; not while a save runs, for which `waits` waits.
    func refresh(at date: Date, waits: Bool = false) {
        guard let version = stat(ofEntry: file.path)?.version else { return }
        guard version != look.withLock(\.version) else { return }
        if readAgain(at: date) {
            look.withLock { $0.version = version }
        } else if waits {
            queue.sync { refresh(at: date) }
        }
    }

    /// Returns whether nothing remains to be read until the file changes again.
    private func readAgain(at date: Date) -> Bool {
        let before = state.present
        guard let snapshot = try? file.read(at: date, unlessChecksum: before.fileChecksum) else { return false }
        // The next save sets a damaged file aside.
        guard let checksum = snapshot.checksum else { return snapshot.isDamaged }
        guard checksum != before.fileChecksum else { return true }
        let file = before.accepted(snapshot)
        return state.withLock { $0.adopt(file, readAfter: before, at: date) }
    }

    /// Returns when the changes are on the disk.
    func flush() throws(CookieFileError) {
        let result = queue.sync { save() }
        errorReporter.report()
        try result?.get()
    }

    func scheduleSave() {
        queue.asyncAfter(deadline: .now() + Self.saveInterval) { self.saveAsScheduled() }
    }

    func propagateLogout(at time: CookieTimestamp) {
        for saver in CookieJarRegistry.savers(sharingFileOf: self) { saver.state.withLock { $0.clear(upTo: time) } }
    }

    func recordLogout(_ number: Int) {
        for saver in CookieJarRegistry.savers(sharingFileOf: self) { saver.state.withLock { $0.newestLogout = number } }
    }

    private func scheduleRetry() {
        guard state.withLock({ $0.beginSchedule() }) else { return }
        queue.asyncAfter(deadline: .now() + Self.retryInterval) { [weak self] in self?.saveAsScheduled() }
    }

    private func saveAsScheduled() {
        state.withLock { $0.endSchedule() }
        guard save() != nil else { return }
        // Not on this queue: an error hook that saves or clears would wait for it forever.
        DispatchQueue.global(qos: .utility).async { self.errorReporter.report() }
    }
}

// MARK: A save

extension CookieSaver {
    /// Also without changes, a damaged file is replaced if there is a `repairDate`.
    ///
    /// Returns `nil` when there was nothing to save.
    private func save(repairedAt repairDate: Date? = nil) -> Result<Void, CookieFileError>? {
        guard repairDate != nil || state.withLock(\.hasChanges) else { return nil }
        do throws(CookieFileError) {
            let problems = try file.withLock { () throws(CookieFileError) in
                // The changes are read when the lock is held, because a logout during the wait ends some of them.
                try write(state.withLock { $0.setSaving(true) }, repairedAt: repairDate)
            }
            errorReporter.record(problems, resolved: [.cannotRead, .cannotWrite, .locked])
            // What has changed back meanwhile was no change when it did.
            if state.withLock({ $0.beginSchedule() }) { scheduleSave() }
            return .success(())
        } catch {
            enforceLogout(of: state.withLock { $0.setSaving(false) }, after: error)
            scheduleRetry()
            errorReporter.record([error])
            return .failure(error)
        }
    }

    /// Removes a file that could not be replaced: a logout must take effect even when the disk is full.
    private func enforceLogout(of unsaved: CookieJarState, after error: CookieFileError) {
        guard unsaved.isLogoutUnsaved, error.kind != .cannotRead else { return }
        // Another jar may have saved the logout, and later cookies.
        if let contents = try? file.read(at: .now).contents, contents.cleared >= unsaved.cleared { return }
        unlink(file.path)
    }

    private func write(
        _ before: CookieJarState,
        repairedAt repairDate: Date?
    ) throws(CookieFileError) -> [CookieFileError] {
        unlink(file.temporaryPath)
        // Not the date at which the jar was opened, because the maximum lifetime of cookies counts from this date.
        let date = before.changeDate ?? repairDate
        let snapshot = try file.read(at: date ?? .now, unlessChecksum: before.fileChecksum)
        let merged = before.merged(with: before.accepted(snapshot), at: date)
        let problems = snapshot.isDamaged ? [try file.setAside(snapshot)] : []
        let contents = merged.fileContents
        let bytes = CookieFileFormat.encode(contents)
        let checksum = bytes.checksum
        if checksum != snapshot.checksum, snapshot.hasFile || !contents.isEmpty { try file.write(bytes) }
        state.withLock { state in
            let file = CookieFileSnapshot(contents: contents, checksum: checksum)
            state.commit(file, of: before, merged: merged.store)
        }
        return problems + merged.store.cookies.filter { !CookieFileFormat.canRepresent($0) }.map(notRepresentable)
    }

    private func notRepresentable(_ cookie: Cookie) -> CookieFileError {
        CookieFileError(.notRepresentable, file: file.url, reason: "the cookie \(cookie) has no name or contains a TAB")
    }
}

/// The savers of all jars with a file, not retained; their changes are saved when the process exits.
enum CookieJarRegistry {
    private struct Reference {
        weak var saver: CookieSaver?
    }

    private static let references = Lock<[Reference]>([])
    private static let savesAtExit: Bool = atexit { CookieJarRegistry.saveAll() } == 0

    static func register(_ saver: CookieSaver) {
        _ = savesAtExit
        // Reading a weak reference retains the saver, whose last release must not happen under the lock.
        references.withLock { references in
            let savers = references.compactMap(\.saver)
            references = (savers + [saver]).map { Reference(saver: $0) }
            return savers
        }
    }

    static func savers(sharingFileOf saver: CookieSaver) -> [CookieSaver] {
        savers.filter { $0 !== saver && $0.file.isSame(as: saver.file) }
    }

    private static var savers: [CookieSaver] { references.withLock { $0.compactMap(\.saver) } }

    private static func saveAll() {
        for saver in savers { try? saver.flush() }
    }
}
