import Foundation

struct FilePermissions {
    private let status: stat

    init(_ status: stat) {
        self.status = status
    }

    /// A symbolic link is followed.
    init?(at path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// For root, the owner must be root.
    var isOwnerTrusted: Bool { status.st_uid == geteuid() || status.st_uid == 0 }

    var isWritableByOthers: Bool {
        status.st_mode & S_IWOTH != 0 || status.st_mode & S_IWGRP != 0 && !hasPrivateGroup
    }

    /// In a sticky folder like `/tmp` only the owner of a file may rename or remove it.
    var reasonToRefuseFolder: String? {
        guard isOwnerTrusted else { return "another user owns its folder" }
        let isSticky = status.st_mode & S_ISVTX != 0
        return isWritableByOthers && !isSticky ? "other users may write its folder" : nil
    }

    /// On systems where each user has such a group, the usual umask of 002 lets the group write every file and folder.
    private var hasPrivateGroup: Bool {
        // A group with more members than fit is not a private one.
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 32 << 10) { buffer in
            guard let text = buffer.baseAddress else { return false }
            let half = buffer.count / 2
            var (user, foundUser) = (passwd(), UnsafeMutablePointer<passwd>?.none)
            guard getpwuid_r(status.st_uid, &user, text, half, &foundUser) == 0, foundUser != nil,
                let userName = user.pw_name, user.pw_gid == status.st_gid
            else { return false }
            let name = String(cString: userName)
            var (entry, foundGroup) = (group(), UnsafeMutablePointer<group>?.none)
            guard getgrgid_r(status.st_gid, &entry, text + half, half, &foundGroup) == 0, foundGroup != nil,
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
