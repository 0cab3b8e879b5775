public import Foundation

/// A response that is stored in a file, as a request's ``APIManager/Response``.
public struct DownloadedFile: Sendable {
    private let location: FileLocation

    /// The complete file at ``BaseAPIRequest/destination``; by default a new file in the temporary folder, which the app must
    /// move or remove.
    ///
    /// Until the load has ended, this is a temporary file in the same folder, which a validator and ``APIManager/reformData(_:)``
    /// can read. When the load succeeds, the file is moved to its destination, and this property names it there, also in a value
    /// that ``ResponseSerializer/map(_:)`` has created from it.
    public var url: URL { location.url }

    /// Creates a response, for example in a test.
    public init(url: URL) {
        self.init(FileLocation(url))
    }

    init(_ location: FileLocation) {
        self.location = location
    }
}

extension DownloadedFile {
    /// Returns what a load with ``APIRequestOptions/resumesDownload`` has stored of a file that is not complete, and the length of
    /// the whole if it is known; `nil` if nothing is stored.
    ///
    /// The next load continues there, unless it is one of another URL or account, or the server has another version by then. For a
    /// destination that is a file; what is kept of a download to a folder is named after its URL.
    public static func partialProgress(of destination: URL) -> TransferProgress? {
        guard let names = names(of: destination), let status = stat(ofEntry: names.file.path) else { return nil }
        let (record, offset) = PartialRecord.read(names, of: status, for: nil)
        guard record.isResumable, offset > 0 else { return nil }
        return TransferProgress(.download, completedBytes: offset, totalBytes: record.length)
    }

    /// Removes what a load with ``APIRequestOptions/resumesDownload`` has stored of a file that is not complete.
    ///
    /// Does nothing while a load writes it; for one that was cancelled, it is removed when the load has left it. Parts that no load
    /// has continued for a week are removed by the next load in their folder.
    public static func removePartialFile(of destination: URL) {
        names(of: destination)?.removeIfUnused()
    }

    /// Removes what loads with ``APIRequestOptions/resumesDownload`` have stored in a folder of files that are not complete, for
    /// example when the user signs out; also of downloads whose destination is the folder.
    ///
    /// Does nothing to what a load writes; what a cancelled one has is removed when it has left it, if `folder` has the path that
    /// the destination has.
    public static func removePartialFiles(in folder: URL) { PartialNames.removeUnused(in: folder.path) }

    private static func names(of destination: URL) -> PartialNames? {
        (try? FilePlace(.file(destination))).map { PartialNames(of: $0) }
    }
}

extension DownloadedFile: Hashable {
    /// Whether both name the same file, by its path after the load has succeeded.
    public static func == (lhs: DownloadedFile, rhs: DownloadedFile) -> Bool {
        lhs.location.target.path == rhs.location.target.path
    }

    /// Hashes the path of the file after the load has succeeded.
    public func hash(into hasher: inout Hasher) { hasher.combine(location.target.path) }
}

extension DownloadedFile: RedactedDescription {
    /// The type and the path of the file, without names that may be secret.
    public var description: String { "DownloadedFile(\(Redactor.path(of: url)))" }
}

extension ResponseSerializer<DownloadedFile> {
    /// Reads the body as a file: the file at ``BaseAPIRequest/destination``, or else a new file in the temporary folder.
    ///
    /// After a 204, a 205 or a response to `HEAD`, which have no body, the load fails with `decoding`, and an existing file does
    /// not change.
    ///
    /// The body of a response with one of ``APIRequestOptions/acceptedStatuses`` is stored in the file as well. After an accepted
    /// 304, the value is the existing file at ``BaseAPIRequest/destination``, which does not change; if the file does not exist,
    /// the load fails with `decoding`. If the closure of ``choosing(_:)`` returns this serializer for a response that is not 2xx,
    /// the load fails with `decoding`.
    public static var file: Self {
        Self(from: .file, decoding: .none) { response, reader in
            try reader.checkEnvelope(of: &response)
            guard let location = response.fileLocation else {
                throw APIError(.decoding, reason: "the response with status \(response.status) is not in a file")
            }
            return DownloadedFile(location)
        }
    }
}

/// Where the file of a download goes when its load succeeds: to a file of the app, or to a new file in a folder of the app, with
/// the name that the server chooses.
final class FilePlace: Sendable {
    /// For errors; in a folder it is named "download".
    let target: URL
    /// The beginning of the name of a file in the temporary folder, where other users may look.
    private static let temporaryMark = "errand-"
    /// Of the new file in a folder; `nil` for a file of the app.
    private let name: Lock<String?>

    init(_ destination: HTTPRequest.Destination) throws(TransportError) {
        switch destination {
        case .file(let target) where target.isFileURL && !["", "/", ".", ".."].contains(target.lastPathComponent):
            self.target = target
            name = Lock(nil)
        case .folder(let folder) where folder.isFileURL:
            target = folder.appendingPathComponent(SafeFilename.unnamed, isDirectory: false)
            name = Lock(SafeFilename.unnamed)
        case .folder: throw TransportError(.invalidRequest, "the destination is not the URL of a folder")
        default: throw TransportError(.invalidRequest, "the destination is not the URL of a file")
        }
    }

    /// A new file for an app that has not named one.
    static func temporaryFile() -> URL {
        FileManager.default.temporaryDirectory.appendingPathComponent(temporaryMark + String.uniqueName)
    }

    private var isTemporary: Bool {
        target.lastPathComponent.hasPrefix(Self.temporaryMark)
            && folder.path == FileManager.default.temporaryDirectory.path
    }

    var isInFolder: Bool { name.withLock { $0 != nil } }
    var folder: URL { target.deletingLastPathComponent() }

    /// Found before the transfer, and not by the move at its end.
    func check() throws(TransportError) {
        guard !isInFolder else { return }
        guard let status = stat(ofTarget: target.path) else {
            guard access(target.path, F_OK) != 0, errno == ENAMETOOLONG else { return }
            throw TransportError(cannotWrite: target, .last("rename"))
        }
        // Such as the link to the standard output, which may be a file.
        let link = try? FileManager.default.destinationOfSymbolicLink(atPath: target.path)
        guard !status.isFile || ["/dev/fd/", "/proc/"].contains(where: { link?.hasPrefix($0) == true }) else { return }
        guard status.st_mode & S_IFMT != S_IFDIR else {
            throw TransportError(cannotWrite: target, SystemError(call: "rename", number: EISDIR))
        }
        throw TransportError(.invalidRequest, "\(Redactor.fileName(of: target)) is not a regular file")
    }

    /// `former` is the name that an earlier response had, which the one of the rest need not repeat.
    func setName(from headers: HTTPHeaders, url: URL, former: String? = nil) {
        guard isInFolder else { return }
        let header = headers["Content-Disposition"].flatMap(ContentDisposition.filename)
        name.withLock { $0 = SafeFilename.name(header ?? former, url: url) }
    }

    private var former: stat? { stat(ofEntry: target.path).flatMap { $0.isFile ? $0 : nil } }

    /// What is to replace a private file is private from its first byte on.
    var modeOfPart: mode_t {
        guard !isInFolder, let former, former.st_mode & 0o004 == 0 else { return 0o666 }
        return former.st_gid == getegid() ? 0o600 | former.st_mode & 0o640 : 0o600
    }

    /// A file that replaces another one has its permissions and, where the system permits that, its owner.
    ///
    /// In a folder that others may write, either of the two may have been exchanged: permissions are only taken away there.
    private func keepAccess(_ path: String) {
        guard let former, let file = try? FileDescriptor(opening: path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
            let own = try? file.status(), own.isFile, own.st_uid == geteuid(), own.st_nlink == 1
        else { return }
        let mode = former.st_mode & 0o777
        guard stat(ofTarget: folder.path)?.reasonToRefuseFolder == nil else {
            if former.st_uid == own.st_uid { try? file.setMode(mode & own.st_mode) }
            return
        }
        let keepsGroup =
            fchown(file.number, former.st_uid, former.st_gid) == 0 || fchown(file.number, .max, former.st_gid) == 0
        try? file.setMode(keepsGroup ? mode : mode & ~0o070)
    }

    /// Returns where the file is then; one that was named by a server replaces none.
    func move(from path: String) throws(SystemError) -> URL {
        guard let name = name.withLock(\.self) else {
            if isTemporary { chmod(path, 0o600) } else { keepAccess(path) }
            guard rename(path, target.path) == 0 else { throw .last("rename") }
            return target
        }
        let (stem, dotted) = SafeFilename.split(name)
        var number = 0
        while true {
            number += 1
            let numbered = number == 1 ? name : "\(stem) \(number)\(dotted)"
            let file = folder.appendingPathComponent(numbered, isDirectory: false)
            // Takes the name, for which another download may look at the same time.
            let descriptor = open(file.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
            if descriptor < 0, errno == EEXIST { continue }
            guard descriptor >= 0 else { throw .last("open") }
            close(descriptor)
            guard rename(path, file.path) == 0 else {
                defer { unlink(file.path) }
                throw .last("rename")
            }
            return file
        }
    }
}
