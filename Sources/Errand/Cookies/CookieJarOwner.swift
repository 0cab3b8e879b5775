import Synchronization

/// Uses jars; its error hook is called for those that have none.
protocol CookieJarOwner: AnyObject, Sendable {
    var onError: (@Sendable (any Error) -> Void)? { get }
}

extension CookieJar {
    /// Reports problems to `owner`, unless the jar has one already; the owner is not retained.
    func belong(to owner: any CookieJarOwner) {
        // The present owner leaves the lock: looking at it retains it, and that may become its last release.
        let (mustReport, _) = state.take { state in
            let present = state.owner
            if present == nil { state.owner = owner }
            return (state.hasUnreported, present)
        }
        if mustReport { tell() }
    }

    /// Calls the error hook, the jar's own or else its owner's, with the problems that were not reported yet.
    func tell() {
        let owner = state.take { $0.owner }
        guard let hook: @Sendable (CookieFileError) -> Void = onError ?? owner?.onError else { return }
        for problem in state.take({ $0.takeUnreported() }) { hook(problem) }
    }
}
