internal import Foundation

/// How often a test repeats what takes processor time: `count` times in an optimized build and with `ERRAND_SLOW_TESTS=1`, a
/// quarter of that in other builds, in which each round takes several times as long.
package func rounds(_ count: Int) -> Int {
    let isSlow = ProcessInfo.processInfo.environment["ERRAND_SLOW_TESTS"] == "1"
    return _isDebugAssertConfiguration() && !isSlow ? count / 4 : count
}
