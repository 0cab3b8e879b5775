#if os(Linux)
import Foundation
import Synchronization

/// The thread that runs all transfers of one transport.
///
/// Any thread submits and cancels; everything else stays on the loop's own thread.
// What other threads reach stands in `inbox`; the rest is confined to the loop's thread.
final class CurlLoop: @unchecked Sendable {
    private struct Inbox {
        var submitted: [CurlExchange] = []
        var cancelled: [CurlExchange] = []
        var isWaiting = false
        var isStopping = false

        var isEmpty: Bool { submitted.isEmpty && cancelled.isEmpty && !isStopping }
    }

    private let inbox = Mutex(Inbox())
    private let multi: CurlMulti
    private let configuration: TransportConfiguration
    private var idle: [CurlHandle] = []
    private var running: [CurlExchange] = []
    private var ended: [CurlExchange] = []
    private var nextDeadline = CurlClock.Instant.max

    /// Starts the loop's thread, `nil` when libcurl has no memory or no descriptor for it.
    init?(_ configuration: TransportConfiguration) {
        guard let multi = CurlMulti() else { return nil }
        self.multi = multi
        self.configuration = configuration
        multi.set(.connectionsPerHost, configuration.connectionsPerHost)
        multi.set(.connections, configuration.connections)
        multi.set(.keptConnections, configuration.connections)
        let thread = Thread { self.run() }
        thread.name = "errand.curl"
        thread.start()
    }

    // MARK: Any thread

    /// Hands an exchange over.
    func submit(_ exchange: CurlExchange) {
        post { $0.submitted.append(exchange) }
    }

    /// Asks to end an exchange; it may have ended, or not yet have been submitted.
    func cancel(_ exchange: CurlExchange) {
        post { $0.cancelled.append(exchange) }
    }

    /// Asks the thread to end.
    func stop() {
        post { $0.isStopping = true }
    }

    private func post(_ change: (inout Inbox) -> Void) {
        let mustWake = inbox.withLock { inbox in
            change(&inbox)
            defer { inbox.isWaiting = false }
            return inbox.isWaiting
        }
        if mustWake { multi.wake() }
    }

    // MARK: The loop's thread

    private func run() {
        while turn() {}
        for exchange in running { end(exchange, TransportError(.cancelled, "the transport has ended")) }
        handOver()
        idle = []
        multi.free()
    }

    private func turn() -> Bool {
        let work = inbox.withLock { inbox in
            defer { inbox = Inbox() }
            return inbox
        }
        guard !work.isStopping else { return false }
        work.submitted.forEach(start)
        work.cancelled.forEach(end)
        multi.perform()
        reap()
        expire()
        handOver()
        wait()
        return true
    }

    private func start(_ exchange: CurlExchange) {
        guard case .new = exchange.stage else { return finish(exchange) }
        guard let handle = idle.popLast() ?? CurlHandle(configuration) else {
            return end(exchange, TransportError(.cannotConnect, "libcurl has no memory"))
        }
        handle.begin(exchange)
        exchange.stage = .running(handle)
        exchange.index = running.count
        running.append(exchange)
        nextDeadline = min(nextDeadline, exchange.nextDeadline ?? .max)
        guard multi.add(handle.easy) else {
            return end(exchange, TransportError(.cannotConnect, "libcurl does not take the request"))
        }
    }

    private func end(_ exchange: CurlExchange) {
        end(exchange, TransportError(.cancelled, "the task was cancelled"))
    }

    private func end(_ exchange: CurlExchange, _ error: TransportError) {
        switch exchange.stage {
        case .ended:
            return
        case .new:
            exchange.fail(error)
            exchange.stage = .ended
        case .running:
            exchange.fail(error)
            finish(exchange)
        }
    }

    private func reap() {
        while let (easy, code) = multi.nextFinished() {
            guard let context = easy.context else { continue }
            let handle = Unmanaged<CurlHandle>.fromOpaque(context).takeUnretainedValue()
            guard let exchange = handle.exchange else { continue }
            exchange.close(code, reason: handle.reason(code), systemError: easy.number(.systemError))
            finish(exchange)
        }
    }

    private func expire() {
        let now = CurlClock.now
        guard now >= nextDeadline else { return }
        for exchange in running where now >= exchange.nextDeadline ?? .max {
            end(exchange, TransportError(.timeout, "there was no complete answer in time"))
        }
        nextDeadline = running.reduce(.max) { min($0, $1.nextDeadline ?? .max) }
    }

    private func finish(_ exchange: CurlExchange) {
        if case .running(let handle) = exchange.stage {
            multi.remove(handle.easy)
            handle.end()
            idle.append(handle)
            running.swapAt(exchange.index, running.count - 1)
            running[exchange.index].index = exchange.index
            running.removeLast()
        }
        exchange.stage = .ended
        ended.append(exchange)
    }

    private func handOver() {
        for exchange in ended { exchange.continuation?.resume() }
        ended.removeAll(keepingCapacity: true)
    }

    private func wait() {
        let mayWait = inbox.withLock { inbox in
            inbox.isWaiting = inbox.isEmpty
            return inbox.isWaiting
        }
        guard mayWait else { return }
        let nanoseconds = max(0, min(nextDeadline - CurlClock.now, 60_000_000_000))
        multi.wait(milliseconds: Int32((nanoseconds + 999_999) / 1_000_000))
    }
}
#endif
