/// Actions by their deadlines, earliest first; a binary heap.
struct TimerQueue {
    /// The action of a timer.
    enum Action {
        /// Resumes a connection if its waitGeneration has not changed since.
        case resume(connection: Int, waitGeneration: Int)
        /// Calls a function.
        case run(@Sendable () -> Void)
        /// Accepts connections again.
        case acceptAgain
    }

    private var heap: [(deadline: ContinuousClock.Instant, action: Action)] = []

    /// The earliest deadline; `nil` when there are no actions.
    var nextDeadline: ContinuousClock.Instant? { heap.first?.deadline }

    /// Adds an action.
    mutating func add(_ action: Action, at deadline: ContinuousClock.Instant) {
        heap.append((deadline, action))
        var child = heap.count - 1
        while child > 0, heap[child].deadline < heap[(child - 1) / 2].deadline {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Removes and returns the next action that is due at `now`; `nil` when none is.
    mutating func popDue(at now: ContinuousClock.Instant) -> Action? {
        guard let first = heap.first, first.deadline <= now else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        sink()
        return first.action
    }

    private mutating func sink() {
        var parent = 0
        while let child = earlierChild(of: parent), heap[child].deadline < heap[parent].deadline {
            heap.swapAt(child, parent)
            parent = child
        }
    }

    private func earlierChild(of parent: Int) -> Int? {
        let left = 2 * parent + 1
        let right = left + 1
        guard left < heap.count else { return nil }
        return right < heap.count && heap[right].deadline < heap[left].deadline ? right : left
    }
}
