import Foundation
import Synchronization

/// The stored responses of one session: a folder, which the end of the session renames and then removes.
///
/// Everything is named relative to the open folder, so that what a load stores after its session has ended is never found by the
/// next one. Files are complete when they get their names, and no other process is waited for.
final class CacheFolder: Sendable {
    let name: String
    private let path: String
    private let folder: FileDescriptor
    private let identity: stat
    private let hasEnded = Atomic(false)
    /// Of loads that replace a response.
    private let turn = Lock(())
    /// What was used in this second, and need not be marked again.
    private let marked = Lock<(second: Int, names: Set<String>)>((0, []))
    /// Of what was removed because the server may have changed it.
    private let invalidations = Lock(CacheInvalidations())
    private let report: @Sendable (APICacheError) -> Void
    /// How many objects of this process have each folder open, by its path.
    private static let openCounts = Lock<[String: Int]>([:])

    init(_ path: String, name: String, report: @escaping @Sendable (APICacheError) -> Void) throws(SystemError) {
        (self.name, self.path) = (name, path)
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw .last("mkdir") }
        folder = try FileDescriptor(opening: path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        identity = try folder.status()
        self.report = report
        // Another object may have removed it just now: it is not current then, as after the end of a session.
        Self.openCounts.withLock { $0[path, default: 0] += 1 }
    }

    /// A folder in which nothing is stored stays for no one: a program may have a jar for each of thousands of users.
    deinit {
        Self.openCounts.withLock { counts in
            counts[path, default: 1] -= 1
            guard counts[path] == 0 else { return }
            counts[path] = nil
            if isCurrent { rmdir(path) }
        }
    }

    func end() { hasEnded.store(true, ordering: .releasing) }

    /// Whether the session goes on: its end, also by another process, has given its path to another folder or to none.
    var isCurrent: Bool {
        !hasEnded.load(ordering: .acquiring) && stat(ofEntry: path)?.identity == identity.identity
    }

    /// Whether there is no such folder any more: the open one says that in a third of the time that its path takes (`miss_us` of
    /// `cache`), but not of one that is only renamed, nor where the file system counts no links.
    var isRemoved: Bool {
        guard !hasEnded.load(ordering: .acquiring), let status = try? folder.status() else { return true }
        return status.st_nlink == 0 && identity.st_nlink > 0
    }

    // MARK: Reading

    /// Returns what is wanted of what is stored under a key, newest first by `Date` (RFC 9111 section 4); no other body is read.
    ///
    /// The key names the file of a response, or the folder of those that vary.
    func entries(_ key: CacheKey, where isWanted: (StoredResponse) -> Bool = { _ in true }) -> [CacheEntry] {
        guard !hasEnded.load(ordering: .acquiring) else { return [] }
        let name = key.name
        switch file(name, for: key, where: isWanted) {
        case .none: return []
        case .file(let file): return [entry(file, name, key)].compactMap(\.self)
        case .variants(let names):
            let entries = names.compactMap { variant -> CacheEntry? in
                let name = "\(name)/\(variant)"
                guard case .file(let file) = self.file(name, for: key, where: isWanted) else { return nil }
                return entry(file, name, key)
            }
            return entries.sorted {
                ($0.stored.date, $0.stored.responseDate) > ($1.stored.date, $1.stored.responseDate)
            }
        }
    }

    /// `nil` for one of another key with the same name, and for one whose body has gone, which is removed.
    private func entry(_ file: CacheFile, _ name: String, _ key: CacheKey) -> CacheEntry? {
        guard file.key == key.bytes else { return nil }
        var body = file.body
        if let bodyName = body.fileName {
            do throws(SystemError) {
                let descriptor = try FileDescriptor(opening: bodyName, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, in: folder)
                body = CacheBody(file: bodyName, length: body.length, checksum: body.checksum, descriptor)
            } catch {
                guard !error.isOfProcess, case .file(let newer) = self.file(name, for: key) else { return nil }
                // What another load has stored while the body was looked for.
                if newer.body.fileName != bodyName { return entry(newer, name, key) }
                remove(name)
                return nil
            }
        }
        return CacheEntry(stored: file.stored, body: body, name: name, key: key)
    }

    private enum Found {
        case none
        case file(CacheFile)
        case variants([String])
    }

    /// What cannot be read is removed and reported; of what is not wanted, that is only the head.
    private func file(
        _ name: String,
        for key: CacheKey? = nil,
        where isWanted: (StoredResponse) -> Bool = { _ in true }
    ) -> Found {
        do throws(SystemError) {
            if let found = try read(name, for: key, where: isWanted) { return found }
            didFind(name, reason: "it is damaged, or of another version")
        } catch {
            let isAbsent = error.number == ENOENT || error.number == ENOTDIR
            if !isAbsent, !error.isOfProcess { didFind(name, reason: error.reason) }
        }
        return .none
    }

    /// Changes nothing; `nil` for what is no whole file of this version.
    private func read(
        _ name: String,
        for key: CacheKey? = nil,
        where isWanted: (StoredResponse) -> Bool = { _ in true }
    ) throws(SystemError) -> Found? {
        let descriptor = try FileDescriptor(opening: name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, in: folder)
        let status = try descriptor.status()
        guard status.st_mode & S_IFMT != S_IFDIR else {
            return .variants(try descriptor.names().filter { !$0.contains(Self.bodyMark) })
        }
        guard status.st_size <= 64 << 20 else { throw SystemError(call: "read", number: EFBIG) }
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: Int(status.st_size), alignment: 16)
        defer { bytes.deallocate() }
        let count = try descriptor.fill(bytes, at: 0)
        let file = CacheFile(UnsafeRawBufferPointer(rebasing: bytes[..<count]), for: key, where: isWanted)
        return file.map { $0.isWanted ? .file($0) : .none }
    }

    /// Reports nothing, so that no code of the app is called.
    private func storedFile(_ name: String) -> CacheFile? {
        guard case .file(let file)? = try? read(name) else { return nil }
        return file
    }

    private func didFind(_ name: String, reason: String) {
        remove(name)
        report(APICacheError(kind: .unreadable, reason: "a stored response was removed: \(reason)"))
    }

    /// Called for an entry whose body is not what was stored.
    func removeDamaged(_ entry: CacheEntry) {
        // Not what another load has stored meanwhile.
        guard case .file(let file) = file(entry.name), file.body.fileName == entry.body.fileName else { return }
        remove(entry)
        report(APICacheError(kind: .unreadable, reason: "a stored response was removed: its body is damaged"))
    }

    /// So that it is removed after those that were used earlier.
    func didUse(_ entry: CacheEntry) {
        let second = time(nil)
        let isNew = marked.withLock { marked in
            if marked.second != second { marked = (second, []) }
            return marked.names.insert(entry.name).inserted
        }
        if isNew { _ = utimensat(folder.number, entry.name, nil, 0) }
    }

    // MARK: Writing

    static let bodyMark: Character = "~"
    static let temporary = "tmp-"
    /// Of one key: each lookup reads the heads of all of them.
    private static let maxVariants = 32

    /// Replaces what is stored for the same key and selection; returns the number of bytes.
    func store(_ stored: StoredResponse, _ content: CacheContent, _ key: CacheKey) throws(SystemError) -> Int64 {
        guard !hasEnded.load(ordering: .acquiring) else { return 0 }
        var name = key.name
        if !stored.selection.lines.isEmpty {
            guard try makeFolder(name, for: stored) else { return 0 }
            name += "/" + stored.selection.name
        }
        // Those that have varied.
        if case .variants = file(name) {
            guard entries(key, where: { $0.isNewer(than: stored) }).isEmpty else { return 0 }
            removeAll(in: name)
        }
        let body = try write(content, for: name)
        let new = CacheFile(stored, key: key, body: body)
        do throws(SystemError) {
            // One load at a time: each removes the body of the one before.
            let outdated = try turn.withLock { _ throws(SystemError) -> CacheFile? in
                let former = storedFile(name)
                if let former, former.stored.isNewer(than: stored) { return new }
                try write(new, to: name)
                return former
            }
            if let body = outdated?.body.fileName { remove(body) }
        } catch {
            if let own = new.body.fileName { remove(own) }
            throw error
        }
        // Another process may have been the last one.
        if let own = new.body.fileName, storedFile(name)?.body.fileName != own { remove(own) }
        if name != key.name {
            CacheFileGroup.removeLeastRecentlyUsed(in: "\(path)/\(key.name)", keeping: Self.maxVariants)
        }
        return body.length
    }

    /// In the place of the file of a response that has not varied, if there is one; returns `false` if that is newer.
    private func makeFolder(_ name: String, for stored: StoredResponse) throws(SystemError) -> Bool {
        if case .file(let file) = file(name) {
            guard !file.stored.isNewer(than: stored) else { return false }
            remove(name, file.body)
        }
        guard mkdirat(folder.number, name, 0o700) == 0 || errno == EEXIST else { throw .last("mkdirat") }
        return true
    }

    /// With other lines, and the same body.
    func update(_ entry: CacheEntry, to stored: StoredResponse) throws(SystemError) {
        guard !hasEnded.load(ordering: .acquiring) else { return }
        try turn.withLock { _ throws(SystemError) in
            // Not what another load has stored meanwhile.
            guard let file = storedFile(entry.name), file.body.fileName == entry.body.fileName,
                file.stored.responseDate == entry.stored.responseDate
            else { return }
            try write(CacheFile(stored, key: entry.key, body: entry.body), to: entry.name)
        }
    }

    private func write(_ file: CacheFile, to name: String) throws(SystemError) {
        let temporary = Self.temporary + String.uniqueName
        do throws(SystemError) {
            try create(temporary).writeAll(file.bytes)
            guard renameat(folder.number, temporary, folder.number, name) == 0 else { throw .last("renameat") }
        } catch {
            remove(temporary)
            throw error
        }
    }

    /// A long body gets a file of its own.
    private func write(_ content: CacheContent, for name: String) throws(SystemError) -> CacheBody {
        if case .data(let data) = content, data.count <= CacheFile.longestInlineBody { return CacheBody(data) }
        let bodyName = "\(name)\(Self.bodyMark)\(String.uniqueName)"
        do throws(SystemError) {
            let file = try create(bodyName)
            var (length, checksum) = (Int64(0), Checksum())
            try content.forEachChunk { bytes throws(SystemError) in
                try file.writeAll(bytes)
                checksum.add(bytes)
                length += Int64(bytes.count)
            }
            return CacheBody(file: bodyName, length: length, checksum: checksum.value)
        } catch {
            remove(bodyName)
            throw error
        }
    }

    private func create(_ name: String) throws(SystemError) -> FileDescriptor {
        try FileDescriptor(opening: name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600, in: folder)
    }

    // MARK: Removing

    func remove(_ entry: CacheEntry) { remove(entry.name, entry.body) }

    /// All that is stored under a key.
    func remove(_ key: CacheKey) {
        let name = key.name
        switch file(name) {
        case .none: break
        case .file(let file): remove(name, file.body)
        case .variants: removeAll(in: name)
        }
    }

    var invalidationCount: Int { invalidations.withLock(\.count) }

    /// Removes what is stored under a key; the response to a request that was sent before is not stored any more.
    func invalidate(_ key: CacheKey) {
        invalidations.withLock { $0.add(key.name) }
        remove(key)
    }

    /// Whether a key was invalidated after the first `count` invalidations.
    func isInvalidated(_ key: CacheKey, after count: Int) -> Bool {
        invalidations.withLock { $0.count > count && $0.contains(key.name, after: count) }
    }

    private func remove(_ name: String) { unlinkat(folder.number, name, 0) }

    private func remove(_ name: String, _ body: CacheBody) {
        remove(name)
        if let body = body.fileName { remove(body) }
    }

    private func removeAll(in name: String) {
        guard let variants = try? FileDescriptor(opening: name, O_RDONLY | O_DIRECTORY, in: folder) else { return }
        for name in (try? variants.names()) ?? [] { unlinkat(variants.number, name, 0) }
        unlinkat(folder.number, name, AT_REMOVEDIR)
    }
}

/// The newest invalidations of a folder, by the names of keys.
private struct CacheInvalidations {
    private static let capacity = 256
    private(set) var count = 0
    private var numbers: [String: Int] = [:]
    /// Of the newest one whose name is no longer known.
    private var forgotten = 0

    mutating func add(_ name: String) {
        if numbers.count >= Self.capacity { (numbers, forgotten) = ([:], count) }
        count += 1
        numbers[name] = count
    }

    func contains(_ name: String, after count: Int) -> Bool { numbers[name, default: forgotten] > count }
}

extension CacheSelection {
    /// Of the file of a variant.
    fileprivate var name: String {
        Checksum.name(of: lines.flatMap { Array("\($0.name)\u{0}\($0.value ?? "\u{1}")\u{0}".utf8) })
    }
}
