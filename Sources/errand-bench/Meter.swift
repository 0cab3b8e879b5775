import Foundation

/// The values of one order: times in seconds, sizes in bytes, shares of one, and counts.
typealias Measurement = [Field: Double]

/// A field of a measurement, with its name in the report; the order is that of the report.
enum Field: String, CaseIterable, Codable, CodingKeyRepresentable {
    case requests
    case requestRate = "requests_per_s"
    case byteRate = "mb_per_s"
    case cpuPerRequest = "cpu_us_per_request"
    case peakMemory = "peak_rss_mb"
    case memoryGrowth = "rss_growth_mb"
    case cookies
    case header = "header_us"
    case load = "load_ms"
    case save = "save_ms"
    case idleWrites = "idle_writes"
    case logins
    case replays
    case endings
    case seconds
    case cancels
    case late
    case lost
    case queued
    case bytesEach = "bytes_each"
    case cancelAll = "cancel_all_s"
    case loads
    case cpuPerLoad = "cpu_us"
    case loadsGrowth = "rss_growth_kb"
    case pages
    case firstTenth = "first_tenth_us"
    case lastTenth = "last_tenth_us"
    case listMemory = "rss_mb"
    case itemsMemory = "items_mb"
    case dedupCost = "dedup_cost"
    case sign = "sign_us"
    case seal = "seal_us"
    case unadapted = "none_us"
    case adapted = "adapted_us"
    case exchanges
    case unmonitored = "off_us"
    case counter = "count_us"
    case log = "log_us"
    case har = "har_us"
    case events
    case terminal
    case leaks
    case jsonSize = "json_mb"
    case value = "value_ms"
    case foundation = "foundation_ms"
    case valueRatio = "value_ratio"
    case responseRatio = "response_ratio"
    case memberRatio = "member_ratio"
    case deepRatio = "deep_ratio"
    case lenientRatio = "lenient_ratio"
    case convertedRatio = "converted_ratio"
    case allNotified = "all_notified_s"
    case cancel = "cancel_ms"
    case cancelled
    case coreUse = "core_percent"
    case dedupMemory = "dedup_rss_mb"
    case cpuPerEvent = "us_per_event"
    case openStreams = "open_streams"
    case memoryPerStream = "kb_per_stream"
    case hit = "hit_us"
    case miss = "miss_us"
    case open = "open_ms"
    case kills
    case killCorrupt = "kill_corrupt"
    case callers
    case fetches
    case wrong
    case probe = "probe_us"
    case required
    case optimal
    case identical
    case resent = "resent_mb_max"
    case plainTime = "plain_s"
    case resumableTime = "resumable_s"
    case descriptors
    case descriptorsGrowth = "descriptors_growth"
    case failures
    case lateCallbacks = "late_callbacks"
    case notified = "notified_ms"
    case p50Added = "p50_added_ms"
    case p99Added = "p99_added_ms"
    case signAWS = "sign_aws_us"
    case signParams = "sign_params_us"
    case stackGrowth = "stack_growth_bytes"
    case threads
    case threadsGrowth = "threads_growth"

    /// How many of the unit in the field's name are one second, byte or share; 1 without such a unit.
    var scale: Double {
        rawValue.split(separator: "_").compactMap { Self.scales[$0] }.first ?? 1
    }

    private static let scales: [Substring: Double] = ["us": 1e6, "ms": 1e3, "kb": 1e-3, "mb": 1e-6, "percent": 100]
}

/// Measures what this process has used since the meter was created.
struct Meter {
    private let clock = ContinuousClock.now
    private let cpu = Self.cpuSeconds
    private let memory = Memory.now

    init() {
        Memory.forgetPeak()
    }

    /// The elapsed time, in seconds.
    var seconds: Double { clock.duration(to: .now) / .seconds(1) }
    /// The CPU time of all threads, user and system, in seconds.
    var cpuSeconds: Double { Self.cpuSeconds - cpu }

    /// By how much the peak of the memory is above its start.
    var peakGrowth: Double { Memory.peak - memory }

    /// Returns the fields of a row with this many requests.
    func measurement(of requests: Int) -> Measurement {
        [
            .requestRate: Double(requests) / seconds, .cpuPerRequest: cpuSeconds / Double(requests),
            .peakMemory: Memory.peak, .memoryGrowth: Memory.now - memory,
        ]
    }

    /// Returns the fields of one file, whose growth is that of the peak.
    func measurement(ofBytes bytes: Int) -> Measurement {
        measurement(of: 1).merging([.memoryGrowth: peakGrowth, .byteRate: Double(bytes) / seconds]) { $1 }
    }

    private static var cpuSeconds: Double {
        var usage = rusage()
        #if os(Linux)
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        #else
        getrusage(RUSAGE_SELF, &usage)
        #endif
        return usage.ru_utime.seconds + usage.ru_stime.seconds
    }
}

extension timeval {
    fileprivate var seconds: Double { Double(tv_sec) + Double(tv_usec) / 1e6 }
}

extension [Double] {
    /// The median.
    var median: Double {
        let values = sorted()
        guard !values.isEmpty else { return .nan }
        return (values[(count - 1) / 2] + values[count / 2]) / 2
    }
}

/// The resident memory of this process, in bytes; 0 where it is not known.
enum Memory {
    /// The resident memory now.
    static var now: Double { bytes("VmRSS:") }
    /// The maximum since ``forgetPeak()``.
    static var peak: Double { bytes("VmHWM:") }

    /// Resets the peak.
    static func forgetPeak() {
        try? "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8)
    }

    private static func bytes(_ name: String) -> Double {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
        return line.flatMap { Double($0.filter(\.isNumber)) }.map { $0 * 1024 } ?? 0
    }
}
