import Errand

extension ScriptedTransport {
    /// Returns the result of `work`, or throws when one of `deadlines` passes or the task is cancelled before.
    ///
    /// A script that ignores its cancel continues, and its result is discarded.
    // Not inlined, which would increase the memory of each exchange in progress.
    @inline(never) static func race(
        _ deadlines: ScriptedDeadlines?,
        _ work: @escaping @Sendable () async throws -> HTTPResponse
    ) async throws(TransportError) -> HTTPResponse {
        // Of which only the first one counts.
        let outcomes = Inbox<Result<HTTPResponse, TransportError>>()
        let script = Task {
            do {
                outcomes.put(.success(try await work()))
            } catch {
                outcomes.put(.failure(failure(error)))
            }
        }
        let alarm = deadlines.map { deadlines in
            Task {
                if let error = await deadlines.passed() { outcomes.put(.failure(error)) }
            }
        }
        defer {
            script.cancel()
            alarm?.cancel()
        }
        guard let outcome = await outcomes.next() else {
            throw TransportError(.cancelled, "cancelled in its script")
        }
        return try outcome.get()
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
