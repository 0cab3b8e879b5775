/// In what code of the app runs for a load, whichever task or thread runs it.
///
/// One load starts the work of others, and one hop to the main actor ends many, so task-local values of the app are not among it:
/// they would be those of another load.
package struct LoadScope: Sendable {
    // Loads that begin in it are part of the same relogin.
    private let relogin = ReloginScope.current
    // A test's.
    private let sharedProxy = SharedProxyScope.replacement

    package init() {}

    package func run(_ work: () -> Void) {
        SharedProxyScope.run(with: sharedProxy) { ReloginScope.run(in: relogin, work) }
    }

    /// Begins a task that inherits nothing else.
    func task(
        priority: TaskPriority? = nil,
        _ work: @escaping @concurrent @Sendable () async -> Void
    ) -> Task<Void, Never> {
        guard relogin != nil || sharedProxy != nil else { return Task.detached(priority: priority, operation: work) }
        return Task.detached(priority: priority) { [self] in
            await SharedProxyScope.$replacement.withValue(sharedProxy) {
                await ReloginScope.$current.withValue(relogin, operation: work)
            }
        }
    }
}

/// What a test has in place of the shared proxy, whose type is of a higher layer.
package enum SharedProxyScope {
    @TaskLocal package static var replacement: (any AnyObject & Sendable)?

    static func run(with replacement: (any AnyObject & Sendable)?, _ work: () -> Void) {
        replacement === self.replacement ? work() : $replacement.withValue(replacement, operation: work)
    }
}
