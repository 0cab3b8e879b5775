import Foundation
import Synchronization

/// The files of a download that a later load continues, and who has them.
struct PartialNames: Sendable {
    /// A load that has the files, or asks for them.
    final class Holder: Sendable {
        /// 1 from when the load leaves the files, 2 if the app has removed them since, and 3 when it has decided whether it keeps
        /// them.
        fileprivate let stage: Atomic<Int>
        fileprivate let waiters = Lock<[CheckedContinuation<Void, Never>]?>([])

        init(stage: Int = 0) { self.stage = Atomic(stage) }

        var isLeaving: Bool { stage.load(ordering: .acquiring) > 0 }
        func willLeave() { _ = stage.compareExchange(expected: 0, desired: 1, ordering: .acquiringAndReleasing) }

        /// Returns whether the app has removed the files; called once.
        func decidesToRemove() -> Bool { stage.exchange(3, ordering: .acquiringAndReleasing) == 2 }
    }

    /// Those of this process, by path; another process is found by the lock of the file.
    private static let holders = Lock<[String: Holder]>([:])
    /// With the version of the format of the record.
    private static let fileEnding = ".errand-part1"
    /// So that a dot and the endings may be added, "-tmp" of a record that is being written among them.
    private static let longestName = 255 - ".\(fileEnding).json-tmp".utf8.count
    private static let maxAge: TimeInterval = 7 * 86_400

    let place: FilePlace
    let file: URL
    var record: String { file.path + ".json" }
    var folder: String { place.folder.path }

    /// Those of a file of the app; for a file whose name is not known, `stem` stands for the name.
    init(of place: FilePlace, stem: String? = nil) {
        self.place = place
        let name = stem ?? place.target.lastPathComponent
        let dotted = name.utf8.count > Self.longestName ? ".\(Self.hash(name))" : ".\(name)"
        file = place.folder.appendingPathComponent(dotted + Self.fileEnding, isDirectory: false)
    }

    static func hash(_ text: String) -> String { String(Array(text.utf8).checksum, radix: 16) }

    // MARK: One load at a time

    /// Returns `false` if another load has the files; waits for one that is leaving.
    func enter(_ holder: Holder) async -> Bool {
        while true {
            let other = Self.holders.withLock { $0.value(for: file.path, orElse: holder) }
            guard other !== holder else { return true }
            guard other.isLeaving else { return false }
            await withCheckedContinuation { continuation in
                let isWaiting = other.waiters.withLock { $0?.append(continuation) != nil }
                if !isWaiting { continuation.resume() }
            }
        }
    }

    func leave(_ holder: Holder) { Self.leave(file.path, holder) }

    private static func leave(_ path: String, _ holder: Holder) {
        holders.withLock { $0.removeValue(forKey: path) }
        for waiter in holder.waiters.withLock({ exchange(&$0, with: nil) }) ?? [] { waiter.resume() }
    }

    var inUse: TransportError {
        let what = place.isInFolder ? "of the same URL to its folder" : "to \(place.target.lastPathComponent)"
        return TransportError(.storage, "another download \(what) is running")
    }

    // MARK: Files

    func remove() {
        removeRecord()
        unlink(file.path)
    }

    func removeRecord() { unlink(record) }

    /// Calls `body` with whether there is a file at `path` that no load has; a load of this process waits until it returns.
    ///
    /// Returns the load that has the file instead.
    private static func whileUnused(_ path: String, _ body: (_ exists: Bool) -> Void) -> Holder? {
        // It has the file only for a moment.
        let own = Holder(stage: 3)
        let other = holders.withLock { $0.value(for: path, orElse: own) }
        guard other === own else { return other }
        defer { leave(path, own) }
        // Locked until it is removed.
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK
        let unused = try? LockedFile(locking: FileDescriptor(opening: path, flags), at: path)
        if unused != nil || stat(ofEntry: path) == nil { withExtendedLifetime(unused) { body(unused != nil) } }
        return nil
    }

    /// Removes the files unless a load has them; those that it is leaving are removed then.
    func removeIfUnused() { Self.whenUnused(file.path) { exists in if exists { remove() } } }

    private static func whenUnused(_ path: String, _ remove: (_ exists: Bool) -> Void) {
        while let holder = whileUnused(path, remove) {
            let former = holder.stage.compareExchange(expected: 1, desired: 2, ordering: .acquiringAndReleasing)
            guard former.original == 3 else { return }
            // It leaves them at once.
            sched_yield()
        }
    }

    /// Removes the files of a folder, except those that a load has.
    static func removeUnused(in folder: String) {
        forEachFile(in: folder) { path, part, _ in whenUnused(part) { _ in unlink(path) } }
    }

    /// Calls `body` with each file, records first, and with the part that it belongs to and its version.
    private static func forEachFile(in folder: String, _ body: (String, _ part: String, Substring) -> Void) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        for name in names.sorted(by: >) {
            guard let match = name.wholeMatch(of: /\..+\.errand-part(\d+)((?:\.json)?(?:-tmp)?)/) else { continue }
            body("\(folder)/\(name)", "\(folder)/\(name.dropLast(match.2.count))", match.1)
        }
    }

    /// Removes what no load has continued for a week, and what other versions have left, unless a process has it open.
    func removeExpired() {
        Self.forEachFile(in: folder) { path, part, version in
            guard part != file.path else { return }
            // A record is as old as its file.
            let times = [part, path].compactMap { stat(ofEntry: $0)?.modificationTime.tv_sec }
            let isOld = times.allSatisfy { Date().timeIntervalSince1970 - TimeInterval($0) > Self.maxAge }
            if isOld || version != "1" { _ = Self.whileUnused(part) { _ in unlink(path) } }
        }
    }
}

/// An open file that no other process has.
final class LockedFile: Sendable {
    let descriptor: FileDescriptor

    /// Makes the file if there is none.
    static func open(_ names: PartialNames) throws(SystemError) -> LockedFile {
        let path = names.file.path
        while true {
            let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK
            let descriptor = try FileDescriptor(opening: path, flags, mode: names.place.modeOfPart)
            let status = try descriptor.status()
            if status.isFile {
                guard let file = try LockedFile(locking: descriptor, at: path) else { continue }
                if status.isOwnerTrusted { return file }
            }
            // What another user has planted, such as a pipe, is neither continued nor written to.
            guard unlink(path) == 0 || errno == ENOENT else { throw .last("unlink") }
        }
    }

    /// `nil` if another process has renamed or removed the file at `path` since it was opened.
    fileprivate init?(locking descriptor: consuming FileDescriptor, at path: String) throws(SystemError) {
        var attempts = 0
        while flock(descriptor.number, LOCK_EX | LOCK_NB) != 0 {
            // Another process may have it only for a moment, to see whether it is used.
            guard errno == EWOULDBLOCK, attempts < 100 else { throw .last("flock") }
            attempts += 1
            sched_yield()
        }
        guard try stat(ofEntry: path)?.st_ino == descriptor.status().st_ino else { return nil }
        self.descriptor = descriptor
    }

    /// Before it is closed, because a call may still use it.
    func unlock() { flock(descriptor.number, LOCK_UN) }
}
