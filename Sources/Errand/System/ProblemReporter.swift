/// A problem with a file or a folder, which no load can report.
protocol Problem: Error {
    associatedtype Kind: Hashable & Sendable
    var kind: Kind { get }
}

/// An object whose error hook is called for what has none.
protocol ErrorHookOwner: AnyObject, Sendable {
    var onError: (@Sendable (any Error) -> Void)? { get }
}

/// Reports the problems of a file or a folder: each kind once, until it has been resolved and occurs again.
final class ProblemReporter<Reported: Problem>: Sendable {
    private struct State {
        var current: Set<Reported.Kind> = []
        var unreported: [Reported] = []
        weak var owner: (any ErrorHookOwner)?
    }

    private let state = Lock(State())
    private let repeated: Reported.Kind
    private let hook: (@Sendable (Reported) -> Void)?

    /// Of the kind `repeated`, each problem is reported; without `hook`, the hook of the owner is called.
    init(repeating repeated: Reported.Kind, hook: (@Sendable (Reported) -> Void)? = nil) {
        (self.repeated, self.hook) = (repeated, hook)
    }

    /// Keeps the owner that there is already; it is not retained.
    func attach(to owner: any ErrorHookOwner) {
        // The present owner is returned from the lock: reading it retains it, and releasing it may deinitialize it.
        let (mustReport, _) = state.withLock { state in
            let present = state.owner
            if present == nil { state.owner = owner }
            return (!state.unreported.isEmpty, present)
        }
        if mustReport { report() }
    }

    /// Records the problems whose kind was not recorded since it was last resolved.
    func record(_ problems: [Reported], resolved: Set<Reported.Kind> = []) {
        let hasHook = hook != nil || state.withLock({ $0.owner })?.onError != nil
        state.withLock { state in
            state.current.subtract(resolved)
            // As many as may wait until there is a hook.
            let new = problems.filter {
                $0.kind == repeated
                    ? hasHook || state.unreported.count < 100 : state.current.insert($0.kind).inserted
            }
            state.unreported.removeAll { old in old.kind != repeated && new.contains { $0.kind == old.kind } }
            state.unreported += new
        }
    }

    /// Without a hook, the problems stay unreported.
    func report() {
        let owner = state.withLock { $0.owner }
        guard let hook: @Sendable (Reported) -> Void = hook ?? owner?.onError else { return }
        for problem in state.withLock({ exchange(&$0.unreported, with: []) }) { hook(problem) }
    }
}
