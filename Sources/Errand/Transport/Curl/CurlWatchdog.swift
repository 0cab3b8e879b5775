#if os(Linux)
import Foundation

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
    private let wakeUp = DispatchSemaphore(value: 0)

    private init() {
        Thread { self.run() }.start()
    }

    /// Until the loop has had no turn for a second.
    func watch(_ activity: CurlActivity) {
        let isFirst = loops.withLock { loops in
            loops.append(CurlWatch(activity))
            return loops.count == 1
        }
        if isFirst { wakeUp.signal() }
    }

    private func run() -> Never {
        Thread.current.name = "errand.watchdog"
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
    private var step: Int
    private var unchangedChecks = 0
    private var processorTime: Int64 = 0

    init(_ activity: CurlActivity) {
        self.activity = activity
        // That of no loop, because it has just had a step.
        step = -1
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
#endif
