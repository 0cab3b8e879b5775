import Foundation

/// The owner and mode of a file or folder, and who may change it.
struct FilePermissions {
    private let status: stat

    init(_ status: stat) {
        self.status = status
    }

    /// `nil` when nothing is at the path; a symbolic link is followed.
    init?(at path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Whether the owner is the user of this process or root; for root, root alone.
    var isOwnerTrusted: Bool { status.st_uid == geteuid() || status.st_uid == 0 }

    /// Whether users other than the owner may write it.
    var isWritableByOthers: Bool {
        status.st_mode & S_IWOTH != 0 || status.st_mode & S_IWGRP != 0 && !hasPrivateGroup
    }

    /// Why other users may replace a file in this folder; `nil` when they may not.
    ///
    /// In a sticky folder like `/tmp` they may not: only its owner may rename or remove a file there.
    var reasonToRefuseFolder: String? {
        guard isOwnerTrusted else { return "another user owns its folder" }
        let isSticky = status.st_mode & S_ISVTX != 0
        return isWritableByOthers && !isSticky ? "other users may write its folder" : nil
    }

    /// Whether the group is the owner's private one: it has the owner's name and no other member.
    ///
    /// On systems where each user has such a group, the usual umask of 002 lets the group write every file and folder.
    private var hasPrivateGroup: Bool {
        guard let user = SystemUser(status.st_uid), user.group == status.st_gid else { return false }
        guard let group = SystemGroup(status.st_gid), group.name == user.name else { return false }
        return group.members.allSatisfy { $0 == user.name }
    }
}

private struct SystemUser {
    let name: String
    let group: gid_t

    init?(_ number: uid_t) {
        let found = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16 << 10) { buffer -> (String, gid_t)? in
            var entry = passwd()
            var result: UnsafeMutablePointer<passwd>?
            guard let text = buffer.baseAddress, getpwuid_r(number, &entry, text, buffer.count, &result) == 0,
                result != nil, let name = entry.pw_name
            else { return nil }
            return (String(cString: name), entry.pw_gid)
        }
        guard let found else { return nil }
        (name, group) = found
    }
}

private struct SystemGroup {
    let name: String
    let members: [String]

    init?(_ number: gid_t) {
        // A group with more members than fit is not a private one.
        let found = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16 << 10) { buffer -> (String, [String])? in
            var entry = group()
            var result: UnsafeMutablePointer<group>?
            guard let text = buffer.baseAddress, getgrgid_r(number, &entry, text, buffer.count, &result) == 0,
                result != nil, let name = entry.gr_name
            else { return nil }
            return (String(cString: name), Self.members(of: entry))
        }
        guard let found else { return nil }
        (name, members) = found
    }

    private static func members(of entry: group) -> [String] {
        var names: [String] = []
        var next = entry.gr_mem
        while let name = next?.pointee {
            names.append(String(cString: name))
            next = next?.successor()
        }
        return names
    }
}
