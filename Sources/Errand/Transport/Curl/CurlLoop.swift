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
        var isStopping = false
        var isLoopAsleep = false

        var isEmpty: Bool { submitted.isEmpty && cancelled.isEmpty && !isStopping }
    }

    private let inbox = Mutex(Inbox())
    private let multi: CurlMulti
    private let configuration: TransportConfiguration
    private let trust: CurlTrust
    private var hosts = CurlHosts()
    private var idle: [CurlHandle] = []
    private var running: [CurlExchange] = []
    private var ended: [CurlExchange] = []
    private let alarm = CurlAlarm()
    private let backlog = CurlBacklog()

    /// Starts the loop's thread, `nil` when libcurl has no memory or no descriptor for it.
    init?(_ configuration: TransportConfiguration, _ trust: CurlTrust) {
        guard let multi = CurlMulti() else { return nil }
        self.multi = multi
        self.configuration = configuration
        self.trust = trust
        multi.set(.keptConnections, configuration.connections)
        Thread { self.run() }.start()
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
        inbox.withLock { inbox in
            inbox.isStopping = true
            // Under the lock, without which the thread could see the stop and free what is to wake it.
            multi.wake()
        }
    }

    /// Nobody stops the loop meanwhile: who submits or cancels keeps the transport.
    private func post(_ change: (inout Inbox) -> Void) {
        let mustWake = inbox.withLock { inbox in
            change(&inbox)
            defer { inbox.isLoopAsleep = false }
            return inbox.isLoopAsleep
        }
        if mustWake { multi.wake() }
    }

    // MARK: The loop's thread

    private func run() {
        Thread.current.name = "errand.curl"
        CurlLibrary.blockBrokenPipeSignal()
        while turn() {}
        CurlLibrary.work(close)
        handOver()
    }

    private func turn() -> Bool {
        guard takeIn() else { return false }
        CurlLibrary.work {
            let postponed = backlog.beginTurn()
            multi.perform()
            postponed.forEach(resume)
            reap()
            expire()
        }
        handOver()
        sleep()
        return true
    }

    private func takeIn() -> Bool {
        let work = inbox.take { exchange(&$0, with: Inbox()) }
        guard !work.isStopping else { return false }
        CurlLibrary.work {
            work.submitted.forEach(start)
            work.cancelled.forEach { end($0) { $0.fail(TransportError(.cancelled, "the task was cancelled")) } }
        }
        return true
    }

    private func start(_ exchange: CurlExchange) {
        guard case .new = exchange.stage else { return ended.append(exchange) }
        alarm.set(exchange.nextDeadline)
        do throws(TransportError) {
            run(exchange, on: try idle.isEmpty ? CurlHandle(configuration, trust) : idle.removeLast())
        } catch {
            exchange.fail(error)
            finish(exchange)
        }
    }

    private func run(_ exchange: CurlExchange, on handle: CurlHandle) {
        exchange.host = hosts[exchange.origin]
        exchange.begin(alarm, backlog)
        handle.begin(exchange)
        exchange.stage = .running(handle)
        exchange.index = running.count
        running.append(exchange)
        alarm.set(handle.patience)
        add(exchange, handle)
    }

    private func add(_ exchange: CurlExchange, _ handle: CurlHandle) {
        guard multi.add(handle.easy) else {
            return end(exchange) { $0.fail(TransportError(.cannotConnect, "libcurl does not take the request")) }
        }
    }

    private func resume(_ exchange: CurlExchange) {
        guard case .running(let handle) = exchange.stage else { return }
        let code = handle.easy.resume()
        // libcurl returns what happens while it brings the postponed bytes, and does not end the transfer for it.
        if code != .success { end(exchange) { $0.fail(handle.error(code, of: $0)) } }
    }

    private func reap() {
        while let (easy, code) = multi.nextFinished() {
            guard let context = easy.context else { continue }
            let handle = Unmanaged<CurlHandle>.fromOpaque(context).takeUnretainedValue()
            guard let exchange = handle.exchange else { continue }
            code == .success ? exchange.succeed() : exchange.fail(handle.error(code, of: exchange))
            retire(exchange, handle)
        }
    }

    private func expire() {
        let now = CurlClock.now
        guard now >= alarm.next else { return }
        for exchange in running.filter({ now >= $0.nextDeadline }) { end(exchange) { $0.expire(at: now) } }
        for exchange in running { stopWaiting(exchange, at: now) }
        alarm.clear()
        running.forEach { alarm.set(min($0.nextDeadline, $0.handle?.patience ?? .max)) }
    }

    /// Gives an exchange a connection of its own that has waited long enough for another's; those of one host take turns,
    /// because the connection that the first of them makes may carry all.
    private func stopWaiting(_ exchange: CurlExchange, at now: CurlClock.Instant) {
        guard let handle = exchange.handle, now >= handle.patience else { return }
        guard handle.isWaiting else { return handle.wait(until: .max) }
        let host = hosts[exchange.origin]
        guard now >= host.nextConnection else { return handle.wait(until: host.nextConnection) }
        host.nextConnection = now + CurlHandle.connectionDelay
        handle.stopWaiting()
        multi.remove(handle.easy)
        add(exchange, handle)
    }

    private func end(_ exchange: CurlExchange, _ note: (CurlExchange) -> Void) {
        switch exchange.stage {
        case .ended:
            return
        case .new:
            note(exchange)
            exchange.stage = .ended
        case .running(let handle):
            note(exchange)
            retire(exchange, handle)
        }
    }

    private func retire(_ exchange: CurlExchange, _ handle: CurlHandle) {
        let version = handle.easy.number(.httpVersion)
        exchange.isMultiplexed = version >= CurlValue.http2
        if version > 0 { exchange.host?.isMultiplexed = exchange.isMultiplexed }
        multi.remove(handle.easy)
        handle.end()
        if handle.isReusable(after: exchange) { idle.append(handle) }
        running.swapAt(exchange.index, running.count - 1)
        running[exchange.index].index = exchange.index
        running.removeLast()
        finish(exchange)
    }

    private func finish(_ exchange: CurlExchange) {
        exchange.stage = .ended
        ended.append(exchange)
    }

    private func handOver() {
        for exchange in ended { exchange.handOver() }
        ended.removeAll(keepingCapacity: true)
    }

    private func sleep() {
        guard backlog.isEmpty else { return }
        let maySleep = inbox.withLock { inbox in
            inbox.isLoopAsleep = inbox.isEmpty
            return inbox.isLoopAsleep
        }
        guard maySleep else { return }
        let nanoseconds = max(0, min(alarm.next - CurlClock.now, 60_000_000_000))
        multi.wait(milliseconds: Int32((nanoseconds + 999_999) / 1_000_000))
    }

    private func close() {
        for exchange in running { end(exchange) { $0.fail(TransportError(.cancelled, "the transport has ended")) } }
        // The exchanges that are postponed hold the backlog, which holds them.
        _ = backlog.beginTurn()
        idle = []
        multi.free()
    }
}

extension CurlExchange {
    /// The handle that the exchange runs on.
    fileprivate var handle: CurlHandle? {
        guard case .running(let handle) = stage else { return nil }
        return handle
    }
}
#endif
