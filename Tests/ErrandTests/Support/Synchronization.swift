import Foundation
import Testing

@testable import Errand

/// A latch that a test opens once; the wait of a cancelled task ends at once.
final class Latch: Sendable {
    private struct State {
        var isOpen = false
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var lastWaiter = 0
    }

    private let state = Lock(State())

    func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [:] }
            return state.waiters.values
        }
        for waiter in waiters { waiter.resume() }
    }

    func wait() async throws(TransportError) {
        let number = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { enter($0, number) }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
        }
        if Task.isCancelled { throw TransportError(.cancelled, "cancelled at a gate") }
    }

    /// Waits for the latch even when the task is cancelled, like work that ignores its cancel.
    func waitIgnoringCancellation() async {
        await Task { try? await wait() }.value
    }

    private func enter(_ waiter: CheckedContinuation<Void, Never>, _ number: Int) {
        let mayPass = state.withLock { state in
            guard !state.isOpen, !Task.isCancelled else { return true }
            state.waiters[number] = waiter
            return false
        }
        if mayPass { waiter.resume() }
    }
}

/// A point in synchronous code at which a thread waits until the test releases it.
final class Checkpoint: Sendable {
    private let isReachedFlag = Lock(false)
    private let gate = DispatchSemaphore(value: 0)

    /// Whether a thread waits here or has waited here.
    var isReached: Bool { isReachedFlag.withLock { $0 } }

    /// Waits for ``release()``.
    func pass() {
        isReachedFlag.withLock { $0 = true }
        gate.wait()
        gate.signal()
    }

    /// Releases the waiting thread and all later ones.
    func release() { gate.signal() }
}

/// A counter that starts at 1.
final class Counter: Sendable {
    private let last = Lock(0)

    func next() -> Int {
        last.withLock { last in
            last += 1
            return last
        }
    }

    var count: Int { last.withLock { $0 } }
}

/// Waits until `condition` holds, for half a minute at most, which is longer while the machine is busy; for changes that
/// cannot be awaited.
func until(_ condition: () throws -> Bool, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    let end = ContinuousClock.now + .seconds(30)
    var turns = 0
    while try !condition() {
        try #require(turns < 10_000 || ContinuousClock.now < end, sourceLocation: sourceLocation)
        turns += 1
        try await Task.sleep(for: .milliseconds(2))
    }
}

/// Returns after the work that is already enqueued on the main actor.
@MainActor func sentinel(_ proxy: APIProxy) async {
    for _ in 0..<3 {
        await withCheckedContinuation { continuation in proxy.deliver { continuation.resume() } }
    }
}
