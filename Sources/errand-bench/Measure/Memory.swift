import Foundation

/// The resident memory of this process, in MB of 1,000,000 bytes; 0 where it is not known.
enum Memory {
    /// The resident memory now, in MB.
    static var now: Double { megabytes("VmRSS:") }
    /// The maximum since ``forgetPeak()``, in MB.
    static var peak: Double { megabytes("VmHWM:") }

    /// Resets the peak.
    static func forgetPeak() {
        try? "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8)
    }

    private static func megabytes(_ name: String) -> Double {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
        return line.flatMap { Double($0.filter(\.isNumber)) }.map { $0 * 1024 / 1e6 } ?? 0
    }
}

/// The numbers of threads and descriptors of this process.
enum Census {
    /// The number of threads.
    static var threads: Int { entries("/proc/self/task") }
    /// The number of open descriptors.
    static var descriptors: Int { entries("/proc/self/fd") }

    private static func entries(_ path: String) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: path).count) ?? 0
    }
}
