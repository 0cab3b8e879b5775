import Foundation

/// The files of one stored response, which are removed together.
struct CacheFileGroup {
    private let name: String
    private var paths: [String] = []
    private(set) var size: Int64 = 0
    /// In nanoseconds.
    private(set) var lastUse: Int64 = 0

    /// Removes a tenth more than is necessary, so that not each new response removes another one.
    static func removeLeastRecentlyUsed(in folders: [String], beyond capacity: Int64) {
        let groups = folders.flatMap(all)
        var total = groups.reduce(0) { $0 + $1.size }
        guard total > capacity else { return }
        for group in groups.sorted(by: { $0.lastUse < $1.lastUse }) where total > capacity - capacity / 10 {
            group.remove()
            total -= group.size
        }
    }

    static func removeLeastRecentlyUsed(in folder: String, keeping count: Int) {
        for group in all(in: folder).sorted(by: { $0.lastUse < $1.lastUse }).dropLast(count) { group.remove() }
    }

    /// Removes what killed processes have left as well.
    static func all(in folder: String) -> [CacheFileGroup] {
        let names = try? FileDescriptor(opening: folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).names()
        var groups: [String: CacheFileGroup] = [:]
        for name in names ?? [] {
            let path = "\(folder)/\(name)"
            guard let status = stat(ofEntry: path) else { continue }
            guard status.st_mode & S_IFMT != S_IFDIR else {
                let variants = all(in: path)
                if variants.isEmpty { removeIfEmpty(path) }
                for variant in variants { groups["\(name)/\(variant.name)"] = variant }
                continue
            }
            let (size, used) = (Int64(status.st_size), status.modificationTime)
            // A process that writes it takes less than an hour.
            if name.hasPrefix(CacheFolder.temporary) {
                if abs(time(nil) - used.tv_sec) > 3_600 { unlink(path) }
                continue
            }
            let response = String(name.prefix { $0 != CacheFolder.bodyMark })
            groups[response, default: CacheFileGroup(name: response)].add(path, size, used)
        }
        return Array(groups.values)
    }

    /// Not one that has just been made: another load, perhaps of another process, is about to store in it.
    static func removeIfEmpty(_ folder: String) {
        guard let status = stat(ofEntry: folder), abs(time(nil) - status.modificationTime.tv_sec) > 60 else { return }
        rmdir(folder)
    }

    private mutating func add(_ path: String, _ size: Int64, _ used: timespec) {
        paths.append(path)
        self.size += size
        // Of a clock that was set back: it would be the newest for ever.
        guard used.tv_sec <= time(nil) + 60 else { return }
        lastUse = max(lastUse, Int64(used.tv_sec) * 1_000_000_000 + Int64(used.tv_nsec))
    }

    func remove() { for path in paths { unlink(path) } }
}
