import Foundation

/// The memory of this process that is resident, in MB of 1,000,000 bytes; 0 where nothing is known.
enum Memory {
    /// How much it is.
    static var now: Double { megabytes("VmRSS:") }
    /// How much it was at most since ``forgetPeak()``.
    static var peak: Double { megabytes("VmHWM:") }

    /// Starts to look for the peak anew.
    static func forgetPeak() {
        try? "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8)
    }

    private static func megabytes(_ name: String) -> Double {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
        return line.flatMap { Double($0.filter(\.isNumber)) }.map { $0 * 1024 / 1e6 } ?? 0
    }
}

/// How many threads and descriptors this process has.
enum Census {
    /// Threads.
    static var threads: Int { entries("/proc/self/task") }
    /// Descriptors.
    static var descriptors: Int { entries("/proc/self/fd") }

    private static func entries(_ path: String) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: path).count) ?? 0
    }
}
