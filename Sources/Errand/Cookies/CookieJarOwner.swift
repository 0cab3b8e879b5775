import Synchronization

/// Uses jars, and hears of problems with the files of those that have no error hook of their own.
protocol CookieJarOwner: AnyObject, Sendable {
    var onError: (@Sendable (any Error) -> Void)? { get }
}

extension CookieJar {
    /// Tells `owner` of problems, unless another is told already; the owner is not retained.
    func belong(to owner: any CookieJarOwner) {
        let mustTell = state.withLock { state in
            if state.owner == nil { state.owner = owner }
            return state.hasUntold
        }
        if mustTell { tell() }
    }

    /// Calls the error hook, the jar's own or else its owner's, with the problems that nobody has been told of.
    func tell() {
        let owner = state.withLock(\.owner)
        guard let hook: @Sendable (CookieFileError) -> Void = onError ?? owner?.onError else { return }
        for problem in state.withLock({ $0.takeUntold() }) { hook(problem) }
    }
}
