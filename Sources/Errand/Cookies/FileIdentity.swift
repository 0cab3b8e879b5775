import Foundation

/// What distinguishes one file or folder from another, however its path is spelled.
struct FileIdentity: Hashable {
    private let device: UInt64
    private let number: UInt64

    /// `nil` when nothing is at the path, where a symbolic link counts as itself.
    init?(ofEntry path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// `nil` when the path leads nowhere.
    init?(ofTarget path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        number = UInt64(truncatingIfNeeded: status.st_ino)
    }
}

extension CookieFile {
    /// Whether both are one file: entries of one folder under one name.
    ///
    /// What a symbolic link in the file's place leads to is another file, because the jar never follows it.
    func isSame(as other: CookieFile) -> Bool {
        if path.utf8.elementsEqual(other.path.utf8) { return true }
        return place == other.place && (name.utf8.elementsEqual(other.name.utf8) || isSameEntry(as: other))
    }

    /// The nearest folder that exists, and what is missing below it.
    private var place: Place {
        var (existing, missing) = (folder[...], [Substring]())
        while FileIdentity(ofTarget: String(existing)) == nil, let slash = existing.lastIndex(of: "/") {
            missing.append(existing[existing.index(after: slash)...])
            existing = slash > existing.startIndex ? existing[..<slash] : "/"
            if existing == "/" { break }
        }
        var below: [Substring] = []
        for component in missing.reversed() where !component.isEmpty && component != "." {
            // Nothing below the folder exists, so no link makes this more than a matter of text.
            if component == ".." { _ = below.popLast() } else { below.append(component) }
        }
        return Place(folder: FileIdentity(ofTarget: String(existing)), missing: below)
    }

    private struct Place: Equatable {
        let folder: FileIdentity?
        let missing: [Substring]
    }

    /// Whether the file system has one entry for both names, because it ignores case or how letters are composed.
    private func isSameEntry(as other: CookieFile) -> Bool {
        guard name.lowercased() == other.name.lowercased() else { return false }
        #if canImport(Darwin)
        if pathconf(folder, _PC_CASE_SENSITIVE) == 0 { return true }
        #endif
        return ["", ".lock"].contains { suffix in
            let identity = FileIdentity(ofEntry: path + suffix)
            return identity != nil && identity == FileIdentity(ofEntry: other.path + suffix)
        }
    }
}
