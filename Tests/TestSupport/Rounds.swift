internal import Foundation

private let isSlow = ProcessInfo.processInfo.environment["ERRAND_SLOW_TESTS"] == "1"

/// How often a test repeats what takes processor time: `count` times in an optimized build, a quarter of that in other builds, in
/// which each round takes several times as long, and `slow` times with `ERRAND_SLOW_TESTS=1`, which is `count` if it is `nil`.
package func rounds(_ count: Int, slow: Int? = nil) -> Int {
    if isSlow { return slow ?? count }
    return _isDebugAssertConfiguration() ? max(1, count / 4) : count
}

/// All elements in an optimized build and with `ERRAND_SLOW_TESTS=1`, and every fourth one in other builds.
package func sampled<Element>(_ elements: [Element]) -> [Element] {
    let step = 4 / rounds(4)
    return elements.enumerated().filter { $0.offset % step == 0 }.map(\.element)
}
