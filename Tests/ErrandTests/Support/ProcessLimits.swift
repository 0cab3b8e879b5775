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

/// The memory of this process, in bytes.
enum ProcessMemory {
    /// The resident memory, after the allocator has returned unused memory.
    static var resident: Int {
        typealias Trim = @convention(c) (Int) -> CInt
        if let trim = dlsym(dlopen(nil, RTLD_LAZY), "malloc_trim") { _ = unsafeBitCast(trim, to: Trim.self)(0) }
        return bytes("VmRSS:")
    }

    /// The size of the address space.
    static var virtual: Int { bytes("VmSize:") }

    /// The largest resident memory so far.
    static var peak: Int { bytes("VmHWM:") }

    private static func bytes(_ name: String) -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
        return 1_024 * (line.flatMap { Int($0.filter(\.isNumber)) } ?? 0)
    }
}
#endif
