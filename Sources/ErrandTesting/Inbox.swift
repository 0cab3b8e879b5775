import Errand

/// A queue of values: each is returned to one caller of ``next()``, first in, first out.
final class Inbox<Value: Sendable>: Sendable {
    private typealias Waiter = CheckedContinuation<Value?, Never>

    private struct State {
        var values: [Value] = []
        var waiters: [(number: Int, waiter: Waiter)] = []
        var lastNumber = 0
    }

    private let state = Lock(State())

    func put(_ value: Value) {
        let waiter = state.withLock { state -> Waiter? in
            guard !state.waiters.isEmpty else {
                state.values.append(value)
                return nil
            }
            return state.waiters.removeFirst().waiter
        }
        waiter?.resume(returning: value)
    }

    /// Waits for the next value; returns `nil` when the task is cancelled before there is one.
    func next() async -> Value? {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        return await withCancellableContinuation(ifCancelled: nil) { waiter in
            state.withLock { state in
                guard state.values.isEmpty else { return .some(state.values.removeFirst()) }
                state.waiters.append((number, waiter))
                return nil
            }
        } remove: {
            state.withLock { state in
                let index = state.waiters.firstIndex { $0.number == number }
                return index.map { state.waiters.remove(at: $0).waiter }
            }
        }
    }
}
