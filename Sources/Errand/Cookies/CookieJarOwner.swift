import Synchronization

/// Uses jars, and hears of problems with the files of those that have no error hook of their own.
protocol CookieJarOwner: AnyObject, Sendable {
    var onError: (@Sendable (any Error) -> Void)? { get }
}

extension CookieJar {
    /// Tells `owner` of problems, unless another is told already; the owner is not retained.
    func belong(to owner: any CookieJarOwner) {
        // The present owner leaves the lock: looking at it retains it, and that may become its last release.
        let (mustTell, _) = state.take { state in
            let present = state.owner
            if present == nil { state.owner = owner }
            return (state.hasUntold, present)
        }
        if mustTell { tell() }
    }

    /// Calls the error hook, the jar's own or else its owner's, with the problems that nobody has been told of.
    func tell() {
        let owner = state.take { $0.owner }
        guard let hook: @Sendable (CookieFileError) -> Void = onError ?? owner?.onError else { return }
        for problem in state.take({ $0.takeUntold() }) { hook(problem) }
    }
}
