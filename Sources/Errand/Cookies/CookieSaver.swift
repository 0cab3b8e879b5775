import Dispatch
import Foundation
import Synchronization

/// Loads the cookies of a jar from its file, and saves its changes: on request, or a moment after a change.
///
/// A scheduled save retains the saver, so that the changes of a released jar are saved.
final class CookieSaver: Sendable {
    /// The time between a change and the scheduled save.
    private static let saveInterval = DispatchTimeInterval.milliseconds(200)
    /// The time between a failed save and the next attempt.
    private static let retryInterval = DispatchTimeInterval.seconds(5)

    /// The least time between two looks at the file; see ``refresh(at:date:)``.
    private static let refreshInterval = Duration.seconds(1)

    /// The last look at the file.
    private struct Look {
        var uptime: Duration?
        /// What was read; `nil` until the file was read by a look.
        var version: FileVersion?
    }

    private enum Reason {
        case scheduled
        case requested
        /// The file is damaged, or could not be read at first, or an interrupted save has left its temporary file.
        case repair
    }

    let file: CookieFile
    private let state: SharedCookieJarState
    private let errorReporter: CookieFileErrorReporter
    private let mapper: CookieFileMapper
    private let lock: CookieFileLock
    private let reader: CookieFileReader
    private let writer: CookieFileWriter
    /// The time between a failed read and the next attempt.
    private let readInterval: Duration
    private let look = Mutex(Look())
    /// Performs one save at a time.
    private let queue = DispatchQueue(label: "errand.cookies", qos: .utility)

    init(
        file: URL,
        state: SharedCookieJarState,
        mapper: CookieFileMapper,
        errorReporter: CookieFileErrorReporter,
        readInterval: Duration = .seconds(5)
    ) {
        self.file = CookieFile(file)
        self.state = state
        self.mapper = mapper
        self.errorReporter = errorReporter
        self.readInterval = readInterval
        lock = CookieFileLock(file: self.file)
        reader = CookieFileReader(file: self.file, capacity: mapper.capacity)
        writer = CookieFileWriter(file: self.file)
    }

    /// Reads the file into the jar's state; called once.
    ///
    /// - Parameter date: The present, at which the file's cookies are expired or not.
    func load(at date: Date) {
        let generation = state.withLock(\.generation)
        CookieJarRegistry.register(self)
        // Logouts from before the registration, which may not have been saved yet.
        let logouts = CookieJarRegistry.savers(sharingFileOf: self).map { $0.state.withLock(\.store.cleared) }
        if let logout = logouts.max() { state.withLock { $0.applyEarlierLogout(at: logout) } }
        var needsRepair = false
        do throws(CookieFileError) {
            let snapshot = try reader.read(at: date)
            needsRepair = snapshot.isDamaged || writer.hasTemporaryFile
            let store = mapper.store(from: snapshot)
            state.withLock { $0.load(store, checksum: snapshot.checksum, readIn: generation, at: date) }
        } catch {
            errorReporter.record([error])
            if error.kind == .cannotRead { readLater(after: readInterval) }
        }
        if needsRepair { queue.sync { _ = save(.repair) } }
        errorReporter.report()
    }

    /// Reads a file again that could not be read, until it can: that of an app is protected until its device is first unlocked.
    ///
    /// What has changed meanwhile is kept. The interval grows to five minutes.
    private func readLater(after interval: Duration) {
        queue.asyncAfter(deadline: .now() + interval / .seconds(1)) { [weak self] in
            guard let self else { return }
            let result = save(.repair)
            // Not on this queue, as for a scheduled save.
            DispatchQueue.global(qos: .utility).async { self.errorReporter.report() }
            guard case .failure? = result else { return }
            readLater(after: min(interval * 2, .seconds(300)))
        }
    }

    /// Reads the file again if others have replaced it or written to it, at most once in a second.
    ///
    /// Does not wait for the lock: the file is replaced as a whole, and one that is being written is damaged, and read again
    /// when it has changed. A save that runs meanwhile takes over the changes instead.
    ///
    /// - Parameters:
    ///   - uptime: The present, by a clock that never decreases.
    ///   - date: The present, at which what other programs wrote was created.
    func refresh(at uptime: Duration, date: Date) {
        let isDue = look.withLock { look in
            // The clock of another proxy may have begun later.
            if let last = look.uptime, (.zero..<Self.refreshInterval).contains(uptime - last) { return false }
            look.uptime = uptime
            return true
        }
        guard isDue, let version = FileVersion(ofEntry: file.path), version != look.withLock(\.version) else { return }
        if readAgain(at: date) { look.withLock { $0.version = version } }
    }

    /// Takes over what others have changed in the file; returns whether nothing remains to be read until it changes again.
    private func readAgain(at date: Date) -> Bool {
        guard let refresh = state.withLock({ $0.beginRefresh() }),
            let snapshot = try? reader.read(at: date, unlessChecksum: refresh.fileChecksum)
        else { return false }
        // The next save sets a damaged file aside.
        guard let checksum = snapshot.checksum else { return snapshot.isDamaged }
        guard checksum != refresh.fileChecksum else { return true }
        let theirs = mapper.store(from: snapshot, known: refresh.store)
        let (isDone, needsSave) = state.withLock { state in
            let isMemoryOnly = { [mapper] (cookie: Cookie) in !mapper.isSaved(cookie) }
            let isDone = state.end(refresh, with: theirs, checksum: checksum, isMemoryOnly: isMemoryOnly, at: date)
            return (isDone, state.beginSchedule())
        }
        if needsSave { scheduleSave() }
        return isDone
    }

    /// Saves the changes, if there are any, and returns when they are on the disk.
    func flush() throws(CookieFileError) {
        let result = queue.sync { save(.requested) }
        errorReporter.report()
        _ = try result?.get()
    }

    /// Saves after a moment.
    func scheduleSave() {
        queue.asyncAfter(deadline: .now() + Self.saveInterval) { self.saveAsScheduled() }
    }

    /// Clears the other jars of the file in memory.
    func propagateLogout(at time: CookieTimestamp) {
        for saver in CookieJarRegistry.savers(sharingFileOf: self) { saver.state.withLock { $0.clear(upTo: time) } }
    }

    private func scheduleRetry() {
        guard state.withLock({ $0.beginSchedule() }) else { return }
        queue.asyncAfter(deadline: .now() + Self.retryInterval) { [weak self] in self?.saveAsScheduled() }
    }

    private func saveAsScheduled() {
        state.withLock { $0.endSchedule() }
        guard save(.scheduled) != nil else { return }
        // Not on this queue: an error hook that saves or clears would wait for it forever.
        DispatchQueue.global(qos: .utility).async { self.errorReporter.report() }
    }
}

// MARK: A save

extension CookieSaver {
    /// Saves the changes and records the problems.
    ///
    /// - Returns: The problems that did not prevent the save; `nil` when there was nothing to save.
    private func save(_ reason: Reason) -> Result<[CookieFileError], CookieFileError>? {
        guard reason == .repair || state.withLock(\.hasChanges) else { return nil }
        do throws(CookieFileError) {
            let problems = try saveLocked(reason)
            errorReporter.record(problems, resolved: [.cannotRead, .cannotWrite, .locked])
            return .success(problems)
        } catch {
            errorReporter.record([error])
            return .failure(error)
        }
    }

    private func saveLocked(_ reason: Reason) throws(CookieFileError) -> [CookieFileError] {
        var pending: CookieJarState.PendingSave?
        do throws(CookieFileError) {
            return try lock.withLock { () throws(CookieFileError) in
                // Taken when the lock is held, because a logout during the wait ends changes, which must not be saved then.
                let changes = state.withLock { $0.takeChanges() }
                pending = changes
                return try write(changes, for: reason)
            }
        } catch {
            let unsaved = pending
            if state.withLock({ $0.restore(unsaved) }) { enforceLogout(after: error) }
            scheduleRetry()
            throw error
        }
    }

    /// Removes a file that could not be replaced: a logout must take effect even when the disk is full.
    private func enforceLogout(after error: CookieFileError) {
        guard error.kind != .cannotRead else { return }
        let logout = state.withLock(\.store.cleared)
        // Another jar may have saved the logout, and later cookies.
        if let contents = try? reader.read(at: .now).contents, contents.cleared >= logout { return }
        writer.remove()
    }

    private func write(
        _ pending: CookieJarState.PendingSave,
        for reason: Reason
    ) throws(CookieFileError) -> [CookieFileError] {
        writer.removeTemporaryFile()
        // Not the date at which the jar was opened, because the maximum lifetime of cookies counts from this date.
        let date = pending.changes.date ?? .now
        let snapshot = try reader.read(at: date, unlessChecksum: pending.fileChecksum)
        let isUnchanged = !snapshot.isDamaged && snapshot.checksum == pending.fileChecksum
        if isUnchanged, pending.repeatsSavedRemovals, reason != .requested {
            _ = state.withLock { $0.restore(pending) }
            return []
        }
        let merged = merge(pending, with: snapshot, at: date)
        let problems = snapshot.isDamaged ? [try writer.setAside(snapshot)] : []
        let contents = mapper.contents(of: merged)
        let bytes = CookieFileFormat.encode(contents)
        let checksum = CookieFileFormat.checksum(bytes)
        if checksum != snapshot.checksum, snapshot.hasFile || !contents.isEmpty { try writer.write(bytes) }
        state.withLock { $0.commit(merged, after: pending.changes, checksum: checksum) }
        return problems + mapper.errors(for: merged, in: file)
    }

    private func merge(
        _ pending: CookieJarState.PendingSave,
        with snapshot: CookieFileSnapshot,
        at date: Date
    ) -> CookieStore {
        var merged = pending.store
        // A file that is unchanged or missing changes nothing: a deleted file does not mean that cookies were removed.
        let isChanged = snapshot.checksum != nil && snapshot.checksum != pending.fileChecksum
        if isChanged || !snapshot.contents.isEmpty {
            // Cookies that are missing in a damaged file were not removed either.
            let unsaved = snapshot.isDamaged ? Set(merged.cookies.map(\.key)) : pending.changes.keys
            merged = CookieMerge(local: merged, unsaved: unsaved, date: date) { [mapper] in !mapper.isSaved($0) }
                .merged(with: mapper.store(from: snapshot, known: merged))
        }
        if let date = pending.changes.date { merged.removeExpired(at: date) }
        merged.discardOldRemovals(at: date)
        return merged
    }
}
