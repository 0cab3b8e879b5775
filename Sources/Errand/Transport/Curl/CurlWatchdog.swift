#if os(Linux)
import Foundation
import Synchronization

/// The thread that makes libcurl return when a server does not let it.
///
/// Some versions of libcurl read a connection as long as there are bytes: 7.88 the frames of HTTP/2 that belong to no request, and
/// OpenSSL below any version the records that contain no data. A server that sends them without an end keeps `perform()` from
/// returning, and with it every other exchange, deadline and cancellation of the loop. Such a turn uses the processor, reads one
/// connection, and passes no byte to the loop for as long as no other turn does; the watchdog then shuts that connection down.
///
/// All loops share one thread. It sleeps until a loop reports a turn, and again when no loop has had one for a second.
final class CurlWatchdog: Sendable {
    static let shared = CurlWatchdog()

    /// In microseconds.
    private static let interval: UInt32 = 100_000

    private let loops = Lock<[CurlWatch]>([])
    private let hasThread = Lock(false)
    private let wakeUp = DispatchSemaphore(value: 0)

    private init() {}

    /// Until the loop has had no turn for a second; returns `false` while the process has no thread for it.
    func watch(_ activity: CurlActivity) -> Bool {
        let isRunning = hasThread.withLock { hasThread in
            hasThread = hasThread || CurlThread.start(named: "errand.watchdog") { self.run() }
            return hasThread
        }
        guard isRunning else { return false }
        let isFirst = loops.withLock { loops in
            loops.append(CurlWatch(activity))
            return loops.count == 1
        }
        if isFirst { wakeUp.signal() }
        return true
    }

    private func run() {
        while true {
            wakeUp.wait()
            // Not a wait for a semaphore with a limit, which ends at a time of the machine's clock.
            repeat { usleep(Self.interval) } while checkLoops()
        }
    }

    private func checkLoops() -> Bool {
        let forgotten = loops.withLock(\.self).filter { !$0.check() }
        return loops.withLock { loops in
            loops.removeAll { loop in forgotten.contains { $0 === loop } }
            return !loops.isEmpty
        }
    }
}

/// What the watchdog has seen of one loop; used only on its thread after it has been created.
final class CurlWatch: @unchecked Sendable {
    /// How many checks without a step make a turn long: between 200 and 300 ms.
    private static let longTurn = 2
    private static let patience = 10
    /// The least time on a processor, in nanoseconds, of a turn that is long for another reason than a busy machine.
    private static let leastProcessorTime: Int64 = 50_000_000
    /// The least that libcurl has read without passing a byte: more than the handshake of TLS with a long chain of certificates.
    private static let leastBytes: Int64 = 65_536
    private static let leastReads: Int32 = 5
    private static let measurements = 25
    /// In microseconds.
    private static let measurementInterval: UInt32 = 2_000

    private let activity: CurlActivity
    /// At first that of no loop, because it has just had a step.
    private var step = -1
    private var unchangedChecks = 0
    private var processorTime: Int64 = 0

    init(_ activity: CurlActivity) {
        self.activity = activity
    }

    /// `false` when the loop needs not be watched until its next turn.
    func check() -> Bool {
        let step = activity.step
        guard step == self.step else {
            (self.step, unchangedChecks) = (step, 0)
            return true
        }
        unchangedChecks += 1
        guard CurlActivity.isInTurn(at: step) else {
            return unchangedChecks < Self.patience || !activity.stopWatching(at: step)
        }
        checkTurn()
        return true
    }

    private func checkTurn() {
        if unchangedChecks == 1 { processorTime = activity.processorTime }
        guard unchangedChecks >= Self.longTurn else { return }
        if unchangedChecks == Self.longTurn { activity.sockets.beginMeasuring() }
        for _ in 0..<Self.measurements where activity.step == step {
            usleep(Self.measurementInterval)
            activity.sockets.measure()
        }
        guard activity.processorTime - processorTime >= Self.leastProcessorTime, activity.step == step else { return }
        activity.cut(bytes: Self.leastBytes, reads: Self.leastReads)
    }
}

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
        if !CurlWatchdog.shared.watch(self) { isWatched.store(false, ordering: .sequentiallyConsistent) }
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
