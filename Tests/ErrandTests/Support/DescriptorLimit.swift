#if os(Linux)
import Foundation
import Testing

/// The limit of open descriptors of a process.
enum DescriptorLimit {
    /// Lowers the limit so that at most `count` descriptors above those in use are left.
    ///
    /// The child process of an exit test has inherited those that the test process had open without close-on-exec, which
    /// may be hundreds.
    static func leave(_ count: Int) throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        let highest = names.compactMap { Int($0) }.max() ?? 0
        var limit = rlimit()
        #expect(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        limit.rlim_cur = rlim_t(highest + count)
        #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
    }
}
#endif
