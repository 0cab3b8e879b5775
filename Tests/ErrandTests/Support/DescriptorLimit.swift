#if os(Linux)
import Foundation
import Testing

/// The limit of open descriptors of this process.
enum DescriptorLimit {
    /// Lowers the limit so that at most `count` more descriptors can be opened.
    ///
    /// The child process of an exit test inherits the descriptors that the test process has open without close-on-exec,
    /// which may be hundreds.
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
