import Errand

extension ScriptedTransport {
    typealias Outcome = Result<HTTPResponse, TransportError>

    /// Returns the result of `work`, or throws when one of `deadlines` passes or the task is cancelled before.
    ///
    /// A script that ignores its cancel continues, and its result is discarded.
    // Not inlined, which would increase the memory of each exchange in progress.
    @inline(never) static func race(
        _ deadlines: ScriptedDeadlines?,
        _ work: @escaping @Sendable () async throws -> HTTPResponse
    ) async throws(TransportError) -> HTTPResponse {
        let finish = FirstOutcome()
        let script = Task {
            do {
                finish.set(.success(try await work()))
            } catch {
                finish.set(.failure(failure(error)))
            }
        }
        let alarm = deadlines.map { deadlines in
            Task {
                if let error = await deadlines.passed() { finish.set(.failure(error)) }
            }
        }
        defer {
            script.cancel()
            alarm?.cancel()
        }
        return try await finish.value.get()
    }
}

/// The time limits of one exchange by the clock of its transport.
final class ScriptedDeadlines: Sendable {
    private let clock: any APIClock
    private let deadlines: Lock<ExchangeDeadlines>

    /// Starts the limits of `request`; `nil` when it has none, and without a clock.
    init?(_ request: HTTPRequest, _ clock: (any APIClock)?) {
        guard let clock, request.timeout != nil || request.deadline != nil else { return nil }
        self.clock = clock
        deadlines = Lock(ExchangeDeadlines(request, at: clock.uptime.clampedNanoseconds))
    }

    /// Restarts the timeout; called for each part of the body to send.
    func restartTimeout() {
        let now = clock.uptime.clampedNanoseconds
        deadlines.withLock { $0.restartTimeout(at: now) }
    }

    /// Runs `work` while the timeout is paused, because the other side waits for the app.
    func withoutTimeout(_ work: () async throws -> Void) async throws {
        deadlines.withLock { $0.pauseTimeout() }
        defer {
            let now = clock.uptime.clampedNanoseconds
            deadlines.withLock { $0.resumeTimeout(at: now) }
        }
        try await work()
    }

    /// Waits until a limit has passed.
    ///
    /// - Returns: Its error; `nil` when the task is cancelled.
    func passed() async -> TransportError? {
        var now = clock.uptime.clampedNanoseconds
        while !Task.isCancelled {
            let (error, next) = deadlines.withLock { ($0.error(at: now), $0.nextCheck(after: now)) }
            if let error { return error }
            guard (try? await clock.sleep(for: .nanoseconds(next - now))) != nil else { return nil }
            // A clock of a test may not advance while it sleeps.
            now = max(clock.uptime.clampedNanoseconds, next)
        }
        return nil
    }
}

/// Keeps the first outcome and ignores all later ones.
private final class FirstOutcome: Sendable {
    private struct State {
        var outcome: ScriptedTransport.Outcome?
        var waiter: CheckedContinuation<ScriptedTransport.Outcome, Never>?
    }

    private let state = Lock(State())

    var value: ScriptedTransport.Outcome {
        get async {
            let cancelled = ScriptedTransport.Outcome.failure(TransportError(.cancelled, "cancelled in its script"))
            return await withCancellableContinuation(ifCancelled: cancelled) { waiter in
                state.withLock { state in
                    guard state.outcome == nil else { return state.outcome }
                    state.waiter = waiter
                    return nil
                }
            } remove: {
                takeWaiter()
            }
        }
    }

    func set(_ outcome: ScriptedTransport.Outcome) {
        let waiter = state.withLock { state -> CheckedContinuation<ScriptedTransport.Outcome, Never>? in
            guard state.outcome == nil else { return nil }
            state.outcome = outcome
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: outcome)
    }

    private func takeWaiter() -> CheckedContinuation<ScriptedTransport.Outcome, Never>? {
        state.withLock { state in
            defer { state.waiter = nil }
            return state.waiter
        }
    }
}
