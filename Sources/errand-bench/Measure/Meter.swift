import Foundation

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

    /// Returns the fields of a row with this many requests.
    func measurement(of requests: Int) -> Measurement {
        [
            "requests_per_s": Double(requests) / seconds,
            "cpu_us_per_request": cpuSeconds * 1e6 / Double(requests),
            "peak_rss_mb": Memory.peak,
            "rss_growth_mb": Memory.now - memory,
        ]
    }

    /// Returns the fields of one file, whose growth is that of the peak.
    func measurement(ofBytes bytes: Int) -> Measurement {
        var fields = measurement(of: 1)
        fields["rss_growth_mb"] = Memory.peak - memory
        fields["mb_per_s"] = Double(bytes) / seconds / 1e6
        return fields
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
