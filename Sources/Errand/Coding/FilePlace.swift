import Foundation

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
        FileManager.default.temporaryDirectory.appendingPathComponent(temporaryMark + UUID().uuidString)
    }

    private var isTemporary: Bool {
        target.lastPathComponent.hasPrefix(Self.temporaryMark)
            && folder.path == FileManager.default.temporaryDirectory.path
    }

    var isInFolder: Bool { name.withLock { $0 != nil } }
    var folder: URL { target.deletingLastPathComponent() }

    /// Found before the transfer, and not by the move at its end.
    func check() throws(TransportError) {
        guard !isInFolder, let mode = stat(ofEntry: target.path)?.st_mode, mode & S_IFMT == S_IFDIR else { return }
        throw TransportError(cannotWrite: target, SystemError(call: "rename", number: EISDIR))
    }

    /// `former` is the name that an earlier response had, which the one of the rest need not repeat.
    func setName(from headers: HTTPHeaders, url: URL, former: String? = nil) {
        name.withLock { name in
            guard name != nil else { return }
            let header = headers["Content-Disposition"].flatMap(ContentDisposition.filename)
            name = SafeFilename.name(header ?? former, url: url)
        }
    }

    /// Returns where the file is then; one that was named by a server replaces none.
    func move(from path: String) throws(SystemError) -> URL {
        guard let name = name.withLock(\.self) else {
            if isTemporary { chmod(path, 0o600) }
            guard rename(path, target.path) == 0 else { throw .last("rename") }
            return target
        }
        let (stem, dotted) = SafeFilename.split(name)
        var number = 0
        while true {
            number += 1
            let file = folder.appendingPathComponent(
                number == 1 ? name : "\(stem) \(number)\(dotted)",
                isDirectory: false
            )
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
