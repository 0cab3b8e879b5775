#if os(Linux)
import Foundation

/// The memory of this process, in bytes.
enum ProcessMemory {
    /// The resident memory, after the allocator has returned unused memory.
    static var resident: Int {
        typealias Trim = @convention(c) (Int) -> CInt
        if let trim = dlsym(dlopen(nil, RTLD_LAZY), "malloc_trim") { _ = unsafeBitCast(trim, to: Trim.self)(0) }
        return bytes("VmRSS:")
    }

    /// The largest resident memory so far.
    static var peak: Int { bytes("VmHWM:") }

    private static func bytes(_ name: String) -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
        return 1_024 * (line.flatMap { Int($0.filter(\.isNumber)) } ?? 0)
    }
}
#endif
