import Foundation

/// The least of three times in seconds that `work` needs of the processor, because other work on the machine slows a thread down.
func cpuTime<Value>(of work: () throws -> Value) rethrows -> Double {
    try (0..<3).map { _ in
        let start = threadTime()
        let result = try work()
        let time = threadTime() - start
        withExtendedLifetime(result) {}
        return time
    }.min() ?? 0
}

/// Seconds of the processor's time that the thread has used.
func threadTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
