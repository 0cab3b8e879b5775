import Foundation

/// The file of a download until its load ends.
///
/// The owner of the load's ending calls either ``commit()`` or ``discard(isRefused:)``.
protocol LoadFile: AnyObject, Sendable {
    /// Where it is when its load has succeeded.
    var place: FilePlace { get }
    /// Where the file is until it is committed.
    var location: FileLocation { get }

    /// Whether a later load continues what there is, or nothing has arrived yet.
    var canContinue: Bool { get }
    /// What it replaces and ends with.
    var part: PartialFile? { get }

    /// Replaces the target, or leaves it as it was when it throws.
    func commit() throws(TransportError)
    /// Called before ``discard(isRefused:)`` where that is called on another thread.
    func willDiscard()
    /// `isRefused` is whether the load has failed with a complete response.
    func discard(isRefused: Bool)
}

/// A file in a new folder beside the target, which is removed unless the load succeeds.
///
/// Once the folder is removed, a transport that is still writing leaves no file.
final class StagedFile: LoadFile {
    let place: FilePlace
    /// Has the target's name, so that errors name the target.
    let url: URL
    let location: FileLocation
    private var folder: String { url.deletingLastPathComponent().path }
    /// Of no use when the load has succeeded, and kept otherwise.
    let part: PartialFile?
    private static let folderEnding = ".download"
    /// Those in which this process has looked for what others have left.
    private static let searched = Lock<Set<String>>([])

    // Held while the folder is made or removed, so that it is never made once it was removed.
    private let isRemoved = Lock(false)

    /// Makes nothing.
    init(at place: FilePlace, replacing part: PartialFile? = nil) {
        (self.place, self.part) = (place, part)
        let folder = place.folder.appendingPathComponent(".\(String.uniqueName)\(Self.folderEnding)", isDirectory: true)
        url = folder.appendingPathComponent(place.target.lastPathComponent, isDirectory: false)
        location = FileLocation(url, target: place.target)
    }

    /// Returns `false` if the folder was removed already.
    func make() throws(TransportError) -> Bool {
        try place.check()
        let isMade = try isRemoved.withLock { isRemoved throws(TransportError) in
            guard isRemoved || mkdir(folder, 0o700) == 0 else { throw .init(cannotWrite: target, .last("mkdir")) }
            return !isRemoved
        }
        if isMade { Self.removeRest(beside: folder, in: place.folder.path) }
        return isMade
    }

    /// For a body that the transport has stored in memory.
    func write(_ body: Data) throws(TransportError) {
        try write { (file) throws(SystemError) in try file.writeAll([UInt8](body)) }
    }

    /// Returns `false` if the stored body is damaged.
    func write(_ body: CacheBody) throws(TransportError) -> Bool {
        try write { (file) throws(SystemError) in
            try body.copy { (bytes) throws(SystemError) in try file.writeAll(bytes) }
        }
    }

    private func write<T>(_ body: (borrowing FileDescriptor) throws(SystemError) -> T) throws(TransportError) -> T {
        try target.reporting { () throws(SystemError) in
            let file = try FileDescriptor(opening: url.path, O_WRONLY | O_CREAT | O_EXCL, mode: 0o666)
            let result = try body(file)
            try file.synchronize()
            return result
        }
    }

    var canContinue: Bool { part?.canContinue == true }

    func willDiscard() { part?.willDiscard() }

    func discard(isRefused: Bool) {
        part?.discard(isRefused: false)
        freeingBlocksLater(url) {
            isRemoved.withLock { isRemoved in
                Self.removeFolder(folder)
                isRemoved = true
            }
        }
    }

    /// Removes what killed processes have left in a folder: what nothing has been written to for a day before `own` was made.
    private static func removeRest(beside own: String, in folder: String) {
        let isFirst = searched.withLock { searched in
            if searched.count >= 1_000 { searched.removeAll() }
            return searched.insert(folder).inserted
        }
        // Who else may write it could have this remove something of theirs, or follow a link.
        guard isFirst, stat(ofTarget: folder)?.reasonToRefuseFolder == nil,
            let now = stat(ofEntry: own)?.modificationTime.tv_sec
        else { return }
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            let path = "\(folder)/\(name)"
            guard name.hasPrefix("."), name.hasSuffix(folderEnding),
                UUID(uuidString: String(name.dropFirst().dropLast(folderEnding.count))) != nil,
                let entry = stat(ofEntry: path), entry.st_mode & S_IFMT == S_IFDIR, entry.st_uid == geteuid()
            else { continue }
            let files = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
            let times = ([entry] + files.compactMap { stat(ofEntry: "\(path)/\($0)") }).map(\.modificationTime.tv_sec)
            if Int64(now) - Int64(times.max() ?? now) > 86_400 { removeFolder(path) }
        }
    }

    private static func removeFolder(_ folder: String) {
        // More than once, because a transport that has not ended may add a file meanwhile.
        for _ in 0..<100 {
            guard rmdir(folder) != 0, errno == ENOTEMPTY || errno == EEXIST else { return }
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            for name in names { unlink("\(folder)/\(name)") }
        }
    }
}

extension LoadFile {
    var target: URL { place.target }
    var part: PartialFile? { nil }

    /// Discards the file on another thread, because the disk may be slow; before the ending, when nothing may be left.
    func discardLater(isRefused: Bool, whenDone: @escaping @Sendable () -> Void) {
        willDiscard()
        DispatchQueue(label: "errand.file").async {
            self.discard(isRefused: isRefused)
            whenDone()
        }
    }

    func commit() throws(TransportError) {
        defer { discard(isRefused: false) }
        let path = location.url.path
        let result = freeingBlocksLater(target) { Result { () throws(SystemError) in try place.move(from: path) } }
        location.didMove(to: try result.mapError { TransportError(cannotWrite: target, $0) }.get())
        part?.discard(isRefused: true)
    }

    /// Frees the blocks of the file at `url`, which `body` unlinks, on another thread, because that takes long for a large file.
    func freeingBlocksLater<Result>(_ url: URL, _ body: () -> Result) -> Result {
        let descriptor = open(url.path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
        defer { if descriptor >= 0 { DispatchQueue(label: "errand.file").async { close(descriptor) } } }
        return body()
    }

    /// To be called by the owner of the load's ending, when the load can no longer be cancelled.
    func end<Value>(with ending: Result<Value, APIError>) -> Result<Value, APIError> {
        do throws(APIError) {
            let value = try ending.get()
            let isFile = (value as? DownloadedFile)?.url == location.url
            do throws(TransportError) { try commit() } catch { throw APIError(error) }
            // An app's serializer has made it of the temporary URL.
            return .success(isFile ? DownloadedFile(location) as? Value ?? value : value)
        } catch {
            discard(isRefused: error.refusesFile)
            return .failure(error.withoutFile)
        }
    }
}

extension APIError {
    /// Whether a load has failed because of what its complete file contains.
    var refusesFile: Bool {
        response?.file != nil && ![.storage, .timeout, .cancelled, .invalidRequest].contains(type)
    }

    /// A load that fails does not keep its file.
    var withoutFile: APIError {
        guard let response, response.file != nil else { return self }
        return withResponse(response.withoutFile)
    }
}
