#if os(Linux)
import Foundation
import Synchronization

/// What the watchdog knows of a loop: whether it is inside a turn, and whether libcurl has called a function of it meanwhile.
///
/// Only the loop's thread changes the state; the watchdog reads it.
final class CurlActivity: Sendable {
    let sockets: CurlSockets
    /// Changes with each start and end of a turn, and with each call from libcurl; odd inside a turn.
    private let state = Atomic(0)
    private let isWatched = Atomic(false)
    private let cuts = Atomic(0)
    /// `nil` before the first turn.
    private let clock = Lock<clockid_t?>(nil)

    init(_ sockets: CurlSockets) {
        self.sockets = sockets
    }

    // MARK: The loop's thread

    func beginThread() {
        var clock = clockid_t()
        guard pthread_getcpuclockid(pthread_self(), &clock) == 0 else { return }
        self.clock.withLock { $0 = clock }
    }

    func beginTurn() {
        sockets.beginTurn()
        // In the order of `stopWatching(at:)`, so that one of both threads sees what the other one has done.
        state.store((state.load(ordering: .relaxed) | 1) + 2, ordering: .sequentiallyConsistent)
        guard !isWatched.load(ordering: .sequentiallyConsistent),
            !isWatched.exchange(true, ordering: .sequentiallyConsistent)
        else { return }
        CurlWatchdog.shared.watch(self)
    }

    func receiveCall() {
        state.store(state.load(ordering: .relaxed) + 2, ordering: .relaxed)
    }

    func endTurn() {
        state.store((state.load(ordering: .relaxed) | 1) + 1, ordering: .releasing)
    }

    var cutSockets: Int { cuts.load(ordering: .acquiring) }

    // MARK: The watchdog's thread

    var step: Int { state.load(ordering: .acquiring) }
    static func isInTurn(at step: Int) -> Bool { step & 1 == 1 }

    /// In nanoseconds; 0 when unknown.
    var processorTime: Int64 {
        var time = timespec()
        guard let clock = clock.withLock(\.self), clock_gettime(clock, &time) == 0 else { return 0 }
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// Shuts down the socket from which libcurl reads without an end.
    func cut(bytes: Int64, reads: Int32) {
        // Before the loop sees the end of the connection.
        cuts.add(1, ordering: .sequentiallyConsistent)
        if !sockets.shutDownMostRead(bytes: bytes, reads: reads) { cuts.subtract(1, ordering: .sequentiallyConsistent) }
    }

    /// Returns whether the watchdog may forget the loop, which has not changed since `step`; its next turn reports itself.
    func stopWatching(at step: Int) -> Bool {
        isWatched.store(false, ordering: .sequentiallyConsistent)
        guard state.load(ordering: .sequentiallyConsistent) != step else { return true }
        // If the loop has reported itself meanwhile, it is watched by that.
        return isWatched.exchange(true, ordering: .sequentiallyConsistent)
    }
}
#endif
