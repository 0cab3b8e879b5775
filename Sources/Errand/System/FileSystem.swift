import Foundation

extension stat {
    /// Of a symbolic link itself; `nil` if there is none.
    init?(ofEntry path: String) {
        self.init()
        guard lstat(path, &self) == 0 else { return nil }
    }

    /// Follows symbolic links; `nil` if there is none.
    init?(ofTarget path: String) {
        self.init()
        guard stat(path, &self) == 0 else { return nil }
    }

    /// Equal for the paths of one file.
    var identity: [UInt64] { [UInt64(truncatingIfNeeded: st_dev), UInt64(truncatingIfNeeded: st_ino)] }

    /// Limited to what is a number of nanoseconds in 64 bits as well, because a file system may have any 64-bit time.
    var modificationTime: timespec {
        #if canImport(Darwin)
        var time = st_mtimespec
        #else
        var time = st_mtim
        #endif
        let limit = Int64.max / 1_000_000_000 - 1
        time.tv_sec = .init(clamping: max(-limit, min(Int64(time.tv_sec), limit)))
        return time
    }
}

extension stat {
    /// For root, the owner must be root.
    var isOwnerTrusted: Bool { st_uid == geteuid() || st_uid == 0 }

    /// Whether it is no folder, and no pipe that would block.
    var isFile: Bool { st_mode & S_IFMT == S_IFREG }

    /// Whether it belongs to programs that run, or to all of them, as `/dev/null` does.
    fileprivate var isDeviceOrPipe: Bool { ![S_IFREG, S_IFDIR].contains(st_mode & S_IFMT) }

    var isDevice: Bool { [S_IFCHR, S_IFBLK].contains(st_mode & S_IFMT) }

    var isWritableByOthers: Bool {
        st_mode & S_IWOTH != 0 || st_mode & S_IWGRP != 0 && !hasPrivateGroup
    }

    /// In a sticky folder like `/tmp` only the owner of a file may rename or remove it.
    var reasonToRefuseFolder: String? {
        guard isOwnerTrusted else { return "another user owns its folder" }
        let isSticky = st_mode & S_ISVTX != 0
        return isWritableByOthers && !isSticky ? "other users may write its folder" : nil
    }

    /// On systems where each user has such a group, the usual umask of 002 lets the group write every file and folder.
    private var hasPrivateGroup: Bool {
        // A group with more members than fit is not a private one.
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 32 << 10) { buffer in
            guard let text = buffer.baseAddress else { return false }
            let half = buffer.count / 2
            var (user, foundUser) = (passwd(), UnsafeMutablePointer<passwd>?.none)
            guard getpwuid_r(st_uid, &user, text, half, &foundUser) == 0, foundUser != nil,
                let userName = user.pw_name, user.pw_gid == st_gid
            else { return false }
            let name = String(cString: userName)
            var (entry, foundGroup) = (group(), UnsafeMutablePointer<group>?.none)
            guard getgrgid_r(st_gid, &entry, text + half, half, &foundGroup) == 0, foundGroup != nil,
                let groupName = entry.gr_name, String(cString: groupName) == name
            else { return false }
            var member = entry.gr_mem
            while let other = member?.pointee {
                guard String(cString: other) == name else { return false }
                member = member?.successor()
            }
            return true
        }
    }
}

/// Replaces files by complete ones, which only their owner may read.
package enum AtomicFile {
    /// Replaces the file at `path` by one with these bytes and mode 0600, or changes nothing; the only error after the replacement
    /// is that the disk could not be synchronized.
    ///
    /// The bytes are on the disk before the new file has its name. The entry at the path is never written to, so a symbolic
    /// link there is replaced and not followed. A device, a pipe or a socket, also behind a link, is not replaced. The temporary
    /// file, in the same folder, must not exist. Without that folder, the new file is sure to survive the process alone, and
    /// nothing waits for a disk.
    package static func replace(
        _ path: String,
        with bytes: [UInt8],
        temporary: String,
        folder: String?
    ) throws(SystemError) {
        guard stat(ofTarget: path)?.isDeviceOrPipe != true else {
            throw SystemError(call: "not a regular file", number: EEXIST)
        }
        do throws(SystemError) {
            try create(temporary, with: bytes, synchronizes: folder != nil)
            guard rename(temporary, path) == 0 else { throw SystemError.last("rename") }
        } catch {
            unlink(temporary)
            throw error
        }
        if let folder { try synchronizeEntries(of: folder) }
    }

    /// Not every user may read a folder, and not every file system synchronizes one; neither changes that the file was replaced.
    private static func synchronizeEntries(of folder: String) throws(SystemError) {
        do throws(SystemError) {
            try FileDescriptor(opening: folder, O_RDONLY | O_DIRECTORY).synchronize()
        } catch {
            guard [EACCES, EINVAL, ENOTSUP].contains(error.number) else { throw error }
        }
    }

    private static func create(_ path: String, with bytes: [UInt8], synchronizes: Bool) throws(SystemError) {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
        let descriptor = try FileDescriptor(opening: path, flags, mode: 0o600)
        // The umask may have removed permissions of the owner.
        try descriptor.setMode(0o600)
        try descriptor.writeAll(bytes)
        if synchronizes { try descriptor.synchronize() }
    }
}
