import Foundation

extension CookieFile {
    /// What was read from the path.
    struct Found {
        var cookies: [Cookie] = []
        /// The checksum of the file; `nil` when there is none, or a damaged one.
        var checksum: UInt64?
        var damage: String?
        var problems: [CookieFileError] = []
    }

    private enum Reading {
        case nothing
        case bytes([UInt8])
        /// Something that is no cookie file, for the reason given.
        case unusable(String)
    }

    /// Whether a save was cut short and has left its temporary file.
    var hasTemporary: Bool { exists(temporaryPath) }

    /// Reads the file, unless `known` is its checksum, and takes from others the right to read it.
    func find(at date: Date, known: UInt64? = nil) throws(CookieFileError) -> Found {
        switch try read() {
        case .nothing: return Found()
        case .unusable(let reason): return Found(damage: reason)
        case .bytes(let bytes):
            let checksum = CookieFileFormat.checksum(bytes)
            guard checksum != known else { return Found(checksum: known) }
            let contents = CookieFileFormat.decode(bytes, atMost: 3 * max(3_300, capacity), at: date)
            guard contents.damage == nil else { return Found(cookies: contents.cookies, damage: contents.damage) }
            return Found(cookies: contents.cookies, checksum: checksum)
        }
    }

    /// Reads the file under the lock, where what an earlier save left can be removed and what is damaged set aside.
    func findTidily(at date: Date, known: UInt64? = nil) throws(CookieFileError) -> Found {
        unlink(temporaryPath)
        var found = try find(at: date, known: known)
        guard let damage = found.damage else { return found }
        let name = try setAside()
        found.problems = [CookieFileError(.setAside, url, "\(damage); it is now \(name)")]
        return found
    }

    private func read() throws(CookieFileError) -> Reading {
        do throws(SystemError) {
            return try readFile()
        } catch {
            if error.number == ENOENT { return .nothing }
            if error.number == ELOOP { return .unusable("a symbolic link stands in its place") }
            throw CookieFileError(.cannotRead, url, error.reason)
        }
    }

    private func readFile() throws(SystemError) -> Reading {
        // Without O_NONBLOCK, a pipe in the file's place would wait for a writer.
        let file = try FileDescriptor(opening: path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        let status = try file.status()
        guard status.st_mode & S_IFMT == S_IFREG else { return .unusable("it is not a file") }
        guard status.st_size <= mostBytes else { return .unusable("it is too large") }
        if status.st_mode & 0o077 != 0 { try? file.setMode(0o600) }
        return .bytes(try file.readAll(atMost: mostBytes))
    }

    /// Renames what stands at the path to the first free `<name>.corrupt-N`.
    private func setAside() throws(CookieFileError) -> String {
        let names = (1...999).lazy.map { "\(url.lastPathComponent).corrupt-\($0)" }
        guard let free = names.first(where: { !exists(directory + "/" + $0) }) else {
            throw CookieFileError(.cannotWrite, url, "too many files were set aside")
        }
        guard rename(path, directory + "/" + free) == 0 else {
            throw CookieFileError(.cannotWrite, url, SystemError.last("rename").reason)
        }
        return free
    }
}
