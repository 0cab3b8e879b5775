import Foundation

/// The location of a jar's file, and of the files next to it that a jar makes.
struct CookieFile: Sendable {
    let url: URL
    let path: String
    /// With a slash at its end.
    let folder: String
    let name: String
    /// A save writes this file and then renames it to ``path``.
    var temporaryPath: String { path + ".errand-tmp" }
    /// Processes lock this empty file to take turns.
    var lockPath: String { path + ".lock" }

    init(_ url: URL) {
        precondition(url.isFileURL, "a cookie jar's file has a file URL")
        self.url = url.absoluteURL
        name = self.url.lastPathComponent
        folder = self.url.deletingLastPathComponent().path(percentEncoded: false)
        path = folder + name
    }

    /// Where damaged contents are moved or copied to: one of 999 numbered files.
    func corruptName(_ number: Int) -> String { "\(name).corrupt-\(number)" }

    /// Throws when other users may replace files in the folder.
    func checkFolder() throws(CookieFileError) {
        guard let reason = FilePermissions(at: folder)?.reasonToRefuseFolder else { return }
        throw CookieFileError(.cannotRead, file: url, reason: reason)
    }

    func reporting<Result: ~Copyable>(
        _ kind: CookieFileError.Kind,
        _ body: () throws(SystemError) -> Result
    ) throws(CookieFileError) -> Result {
        do throws(SystemError) {
            return try body()
        } catch {
            throw CookieFileError(kind, file: url, reason: error.reason)
        }
    }
}

// MARK: Identity

extension CookieFile {
    /// The target of a symbolic link at the file's path is a different file, because the jar never follows the link.
    func isSame(as other: CookieFile) -> Bool {
        if path.utf8.elementsEqual(other.path.utf8) { return true }
        return location == other.location && (name.utf8.elementsEqual(other.name.utf8) || isSameEntry(as: other))
    }

    /// The nearest existing folder, and the names of the missing ones below it.
    private var location: (folder: FileIdentity?, missing: [Substring]) {
        var (existing, missing) = (folder[...], [Substring]())
        while FileIdentity(ofTarget: String(existing)) == nil, let slash = existing.lastIndex(of: "/") {
            missing.append(existing[existing.index(after: slash)...])
            existing = slash > existing.startIndex ? existing[..<slash] : "/"
            if existing == "/" { break }
        }
        var below: [Substring] = []
        for component in missing.reversed() where !component.isEmpty && component != "." {
            // Nothing below the folder exists, so there is no symbolic link that could change what ".." means.
            if component == ".." { _ = below.popLast() } else { below.append(component) }
        }
        return (FileIdentity(ofTarget: String(existing)), below)
    }

    /// A file system may ignore case or Unicode normalization.
    private func isSameEntry(as other: CookieFile) -> Bool {
        guard name.lowercased() == other.name.lowercased() else { return false }
        if FileSystem.ignoresCase(in: folder) { return true }
        return [(path, other.path), (lockPath, other.lockPath)].contains { one, other in
            let identity = FileIdentity(ofEntry: one)
            return identity != nil && identity == FileIdentity(ofEntry: other)
        }
    }
}

/// The device and inode number of a file or folder, which are the same for every spelling of its path.
struct FileIdentity: Hashable {
    private let device: UInt64
    private let number: UInt64

    /// A symbolic link is not followed.
    init?(ofEntry path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// A symbolic link is followed.
    init?(ofTarget path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    fileprivate init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        number = UInt64(truncatingIfNeeded: status.st_ino)
    }
}

/// What differs after a program has replaced a file or written to it.
struct FileVersion: Equatable {
    private let identity: FileIdentity
    private let size: Int64
    private let modified: CookieTimestamp

    /// A symbolic link is not followed.
    init?(ofEntry path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        (identity, size, modified) = (FileIdentity(status), Int64(status.st_size), status.modified)
    }
}

extension stat {
    var modified: CookieTimestamp {
        let time = modificationTime
        // A file system may have any 64-bit time.
        let seconds = max(-1 << 40, min(Int64(time.tv_sec), 1 << 40))
        return CookieTimestamp(microseconds: seconds * 1_000_000 + Int64(time.tv_nsec) / 1_000)
    }
}
