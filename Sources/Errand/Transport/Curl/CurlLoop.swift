#if os(Linux)
import CurlRuntime
import Foundation

/// A thread with a name.
///
/// `Thread` does not say that the process may have no other one.
final class CurlThread: Sendable {
    private let name: String
    private let body: @Sendable () -> Void

    private init(_ name: String, _ body: @escaping @Sendable () -> Void) {
        (self.name, self.body) = (name, body)
    }

    /// Returns whether it has begun.
    static func start(named name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        let start = Unmanaged.passRetained(CurlThread(name, body))
        var id: pthread_t = 0
        let run: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { start in
            guard let start else { return nil }
            let thread = Unmanaged<CurlThread>.fromOpaque(start).takeRetainedValue()
            Thread.current.name = thread.name
            thread.body()
            return nil
        }
        guard pthread_create(&id, nil, run, start.toOpaque()) == 0 else {
            start.release()
            return false
        }
        pthread_detach(id)
        return true
    }
}

/// The thread that runs all transfers of one transport.
// Other threads use only `inbox` and the wake-up of `multi`; everything else is used only on the loop's thread.
final class CurlLoop: @unchecked Sendable {
    private struct Inbox {
        var submitted: [CurlExchange] = []
        var cancelled: [CurlExchange] = []
        var resumable: [CurlExchange] = []
        var isStopping = false
        var isLoopAsleep = false

        var isEmpty: Bool { submitted.isEmpty && cancelled.isEmpty && resumable.isEmpty && !isStopping }
    }

    private static let hostLimit = 1_000
    /// More than a handshake, or a record of TLS, takes.
    private static let longestIdleRun = 64

    private let inbox = Lock(Inbox())
    private let multi: OpaquePointer
    private let settings: CurlSettings
    private var hosts: [String: CurlHost] = [:]
    /// By the size of their buffer, because libcurl may not resize one that it has.
    private var idle: [CurlHandle.Buffer: [CurlHandle]] = [:]
    private var running: [CurlExchange] = []
    /// In a row, in which libcurl has called nothing.
    private var idleTurns = 0
    private var ended: [CurlExchange] = []
    /// Their name lookups have not ended.
    private var abandoned: [CurlHandle] = []
    /// Returns several ended exchanges to their callers; not a shared queue, whose threads the app may block.
    private let completions = DispatchQueue(label: "errand.completions", qos: .userInitiated)
    let turn: CurlTurn
    private let sockets: CurlSockets
    /// At the end of the last turn.
    private var cutSockets = 0
    private var awaitsSent = false

    /// `nil` when there is no memory, no descriptor or no thread for it.
    init?(_ settings: CurlSettings) {
        guard let multi = curlrt_multi_make(), let sockets = CurlSockets() else { return nil }
        (self.multi, self.sockets, self.settings) = (multi, sockets, settings)
        turn = CurlTurn(CurlActivity(sockets))
        curlrt_multi_set_number(multi, CurlMultiOption.maxConnects, settings.configuration.connections)
        // A thread for each lookup, as before 8.20: a lookup that hangs keeps its thread, even after a cancel.
        curlrt_multi_set_number(multi, CurlMultiOption.resolveThreadsMax, Int(Int32.max))
        guard CurlThread.start(named: "errand.curl", { self.run() }) else {
            curlrt_multi_free(multi)
            return nil
        }
    }

    // MARK: Any thread

    func submit(_ exchange: CurlExchange) {
        post { $0.submitted.append(exchange) }
    }

    /// The exchange may have ended or may not have been submitted yet.
    func cancel(_ exchange: CurlExchange) {
        post { $0.cancelled.append(exchange) }
    }

    /// Continues a transfer that waits for bytes, or for room.
    func resume(_ exchange: CurlExchange) {
        post { $0.resumable.append(exchange) }
    }

    func stop() {
        post { $0.isStopping = true }
    }

    private func post(_ change: (inout Inbox) -> Void) {
        inbox.withLock { inbox in
            change(&inbox)
            // Without the lock, the thread could end and free `multi` before it is used here.
            if inbox.isLoopAsleep { curlrt_multi_wake(multi) }
            inbox.isLoopAsleep = false
        }
    }

    // MARK: The loop's thread

    private func run() {
        CurlLibrary.blockSIGPIPE()
        turn.activity.beginThread()
        while runTurn() {}
        CurlLibrary.performWork(close)
        completeEnded()
        turn.activity.endTurn()
    }

    /// `false` when the loop is stopped.
    private func runTurn() -> Bool {
        turn.begin()
        let step = turn.activity.step
        guard processInbox() else { return false }
        CurlLibrary.performWork {
            let postponed = turn.takePostponed()
            curlrt_multi_perform(multi)
            if turn.activity.cutSockets != cutSockets { endOverdue() }
            postponed.forEach(continueTransfer)
            if awaitsSent { awaitsSent = running.count { $0.reportSent() } > 0 }
            collectFinished()
            checkDeadlines()
        }
        completeEnded()
        idleTurns = turn.activity.step == step ? idleTurns + 1 : 0
        if let end = turn.finish() { running.forEach { $0.deadlines.moveTimeout(from: turn.start, to: end) } }
        sleep()
        return true
    }

    private func processInbox() -> Bool {
        let work = inbox.withLock { exchange(&$0, with: Inbox()) }
        guard !work.isStopping else { return false }
        CurlLibrary.performWork {
            work.submitted.forEach(start)
            work.resumable.forEach(continueTransfer)
            work.cancelled.forEach(endCancelled)
        }
        return true
    }

    private func endCancelled(_ exchange: CurlExchange) {
        end(exchange) { $0.fail(TransportError(.cancelled, "the task was cancelled")) }
    }

    /// Ends the exchanges that were cancelled, or whose time has passed, while libcurl did not return from a connection that the
    /// watchdog has shut down: with that reason, and not with the loss of the connection.
    ///
    /// Only where libcurl has ended the transfer: the others have had no opportunity to receive what has arrived for them.
    private func endOverdue() {
        cutSockets = turn.activity.cutSockets
        inbox.withLock { exchange(&$0.cancelled, with: []) }.forEach(endCancelled)
        collectFinished(inCutTurn: true)
    }

    private func start(_ exchange: CurlExchange) {
        guard case .new = exchange.stage else { return ended.append(exchange) }
        do throws(TransportError) {
            let buffer = CurlHandle.Buffer(for: exchange.request)
            let last = idle[buffer]?.last
            let handle = if let last { last } else { try CurlHandle(settings, sockets: sockets, buffer: buffer) }
            exchange.host = host(of: exchange.url.origin)
            exchange.begin(in: turn, of: self)
            try handle.begin(exchange)
            // Not before: a handle stays idle when the exchange cannot begin.
            _ = idle[buffer]?.popLast()
            awaitsSent = awaitsSent || exchange.request.observer != nil
            exchange.stage = .running(handle)
            exchange.index = running.count
            running.append(exchange)
            turn.setAlarm(handle.nextCheck)
            add(exchange, on: handle)
        } catch {
            exchange.fail(error)
            finish(exchange)
        }
    }

    private func host(of origin: String) -> CurlHost {
        if let host = hosts[origin] { return host }
        // The next responses of the hosts restore what is known of them.
        if hosts.count >= Self.hostLimit { hosts = [:] }
        let host = CurlHost()
        hosts[origin] = host
        return host
    }

    private func add(_ exchange: CurlExchange, on handle: CurlHandle) {
        guard curlrt_multi_add(multi, handle.easy.pointer) != 0 else { return }
        end(exchange) { $0.fail(TransportError(.cannotConnect, "libcurl cannot start the request")) }
    }

    private func continueTransfer(of exchange: CurlExchange) {
        guard case .running(let handle) = exchange.stage else { return }
        exchange.willResume()
        let code = handle.easy.resume()
        // libcurl returns a failure that occurs while it passes the postponed bytes, but does not end the transfer.
        // Without a connection there is nothing to continue: it has ended, or libcurl waits for another one.
        guard code != .ok, code != .badFunctionArgument else { return }
        end(exchange) { $0.isAnswered(before: code) ? $0.succeed() : $0.fail(handle.error(code, of: $0)) }
    }

    private func collectFinished(inCutTurn isCut: Bool = false) {
        var result: Int32 = 0
        while let easy = curlrt_multi_next_finished(multi, &result) {
            guard let handle = CurlHandle.at(curlrt_easy_private(easy)) else { continue }
            guard let exchange = handle.exchange else {
                curlrt_multi_remove(multi, easy)
                abandoned.removeAll { $0 === handle }
                continue
            }
            if handle.leaveStaleConnection() {
                curlrt_multi_remove(multi, easy)
                add(exchange, on: handle)
                continue
            }
            let code = CurlCode(rawValue: result)
            if code == .ok || exchange.isAnswered(before: code) {
                exchange.succeed()
            } else {
                exchange.fail(error(code, of: exchange, on: handle, inCutTurn: isCut))
            }
            remove(exchange, from: handle)
        }
    }

    private func error(
        _ code: CurlCode,
        of exchange: CurlExchange,
        on handle: CurlHandle,
        inCutTurn isCut: Bool
    ) -> TransportError {
        let error = handle.error(code, of: exchange)
        guard isCut else { return error }
        if let overdue = exchange.deadlines.error(at: MonotonicClock.now) { return overdue }
        guard [.connectionLost, .cannotConnect].contains(error.kind) else { return error }
        return error.withKind(error.kind, reason: "the server sent data that is part of no response, without an end")
    }

    private func checkDeadlines() {
        // That of the turn, to which the bytes belong that were received in it.
        let now = turn.start
        guard now >= turn.alarm else { return }
        for exchange in running.filter({ now >= $0.deadlines.next && !$0.isSending(at: now) }) {
            end(exchange) { $0.expire(at: now) }
        }
        for exchange in running.filter({ $0.handle?.isConnectOverdue(at: now) == true }) {
            end(exchange) { $0.fail(TransportError(.timeout, "the connection was not ready in time")) }
        }
        for exchange in running { endConnectionWait(of: exchange, at: now) }
        for exchange in running where now >= exchange.nextResumption { continueTransfer(of: exchange) }
        turn.alarm = .max
        for exchange in running {
            let next = min(exchange.deadlines.next, exchange.nextResumption)
            turn.setAlarm(min(next, exchange.handle?.nextCheck ?? .max))
        }
    }

    /// The exchange opens a connection when it has waited long enough for that of another one.
    private func endConnectionWait(of exchange: CurlExchange, at now: MonotonicClock.Instant) {
        guard let handle = exchange.handle, let host = exchange.host else { return }
        guard handle.endConnectionWait(for: host, at: now) else { return }
        curlrt_multi_remove(multi, handle.easy.pointer)
        add(exchange, on: handle)
    }

    private func end(_ exchange: CurlExchange, recordResult: (CurlExchange) -> Void) {
        switch exchange.stage {
        case .ended:
            return
        case .new:
            recordResult(exchange)
            exchange.stage = .ended
        case .running(let handle):
            recordResult(exchange)
            handle.isLookingUp ? abandon(exchange, on: handle) : remove(exchange, from: handle)
        }
    }

    /// Ends an exchange whose name lookup continues: before 7.87, libcurl waits for that when it removes the transfer.
    private func abandon(_ exchange: CurlExchange, on handle: CurlHandle) {
        handle.abandon()
        abandoned.append(handle)
        stopRunning(exchange)
    }

    private func remove(_ exchange: CurlExchange, from handle: CurlHandle) {
        exchange.measure(on: handle)
        // Over HTTP/2, libcurl would use a silent connection again: every request would wait until the system gives it up. Has no
        // effect while other exchanges use the connection. The handle is used for no other exchange after a failure.
        if handle.isConnected, exchange.hasFallenSilent(at: MonotonicClock.now) {
            handle.easy.set(.forbidReuse, to: 1)
        }
        curlrt_multi_remove(multi, handle.easy.pointer)
        handle.end()
        if handle.isReusable(after: exchange) { idle[handle.buffer, default: []].append(handle) }
        stopRunning(exchange)
    }

    private func stopRunning(_ exchange: CurlExchange) {
        running.swapAt(exchange.index, running.count - 1)
        running[exchange.index].index = exchange.index
        running.removeLast()
        finish(exchange)
    }

    private func finish(_ exchange: CurlExchange) {
        exchange.stage = .ended
        ended.append(exchange)
    }

    /// Returns the ended exchanges to their callers, several by one job of a queue: on a busy core,
    /// the pool's thread that each of them wakes would interrupt this thread each time.
    private func completeEnded() {
        guard ended.count > 1 else { return ended.popLast()?.complete() ?? () }
        let exchanges = ended
        ended.removeAll(keepingCapacity: true)
        completions.async { for exchange in exchanges { exchange.complete() } }
    }

    private func sleep() {
        guard let pause = turn.pause else { return }
        let maySleep = inbox.withLock { inbox in
            inbox.isLoopAsleep = inbox.isEmpty
            return inbox.isLoopAsleep
        }
        guard maySleep else { return }
        // libcurl does not wait while an upload over HTTP/2 waits until its server reads on (curl issue 7821).
        if idleTurns > Self.longestIdleRun, running.contains(where: \.mayAwaitWindow) { usleep(1_000) }
        curlrt_multi_wait(multi, pause)
    }

    private func close() {
        for exchange in running { end(exchange) { $0.fail(TransportError(.cancelled, "the transport was released")) } }
        // Breaks the cycle between the turn and its exchanges.
        _ = turn.takePostponed()
        for handle in abandoned { curlrt_multi_remove(multi, handle.easy.pointer) }
        (idle, abandoned) = ([:], [])
        curlrt_multi_free(multi)
    }
}
#endif
