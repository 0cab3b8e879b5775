#if os(Linux)
import Foundation
import TestSockets
import Testing

/// The limit of open descriptors of this process.
enum DescriptorLimit {
    /// Lowers the limit so that at most `count` more descriptors can be opened.
    ///
    /// The last eight are not for sockets, because libdispatch needs one of them.
    ///
    /// The child process of an exit test inherits the descriptors that the test process has open without close-on-exec,
    /// which may be hundreds. Those that are open stay usable, whatever their numbers.
    static func leave(_ count: Int) throws {
        test_sockets_leave_free(8)
        var end: CInt = 0
        var free = 0
        while free < count {
            if fcntl(end, F_GETFD) < 0 { free += 1 }
            end += 1
        }
        var limit = rlimit()
        #expect(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        limit.rlim_cur = min(limit.rlim_cur, rlim_t(end))
        #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
    }
}
#endif
