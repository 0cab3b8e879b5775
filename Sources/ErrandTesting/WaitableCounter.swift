import Errand

/// A counter that tasks can wait on until it is high enough.
final class WaitableCounter: Sendable {
    private typealias Waiter = (count: Int, continuation: CheckedContinuation<Bool, Never>)

    private struct State {
        var count = 0
        var waiters: [Int: Waiter] = [:]
    }

    private let state = Lock(State())

    var count: Int { state.withLock(\.count) }

    func add(_ difference: Int) {
        let satisfied = state.withLock { state in
            state.count += difference
            let satisfied = state.waiters.filter { $0.value.count <= state.count }
            for number in satisfied.keys { state.waiters[number] = nil }
            return satisfied.values
        }
        for waiter in satisfied { waiter.continuation.resume(returning: true) }
    }

    /// Waits until the number is at least `count`, or the task is cancelled.
    func reach(_ count: Int) async {
        let number = WaiterNumber.next()
        _ = await withCancellableContinuation(ifCancelled: false) { continuation in
            state.withLock { state in
                guard state.count < count else { return true }
                state.waiters[number] = (count, continuation)
                return nil
            }
        } remove: {
            state.withLock { $0.waiters.removeValue(forKey: number) }?.continuation
        }
    }
}
