import Synchronization

extension Mutex where Value: ~Copyable {
    /// Runs `body` with the lock held, and releases nothing of its result before the lock is free.
    ///
    /// Use it for everything that leaves the guarded value, needed afterwards or not. Releasing what an app gave can run
    /// code of the app, such as a `deinit` that calls the owner of this lock. With `withLock`, the optimizer may release a
    /// result, or the unused parts of one, while the lock is still held.
    @discardableResult
    package borrowing func take<Taken>(_ body: (inout sending Value) -> sending Taken) -> sending Taken {
        let taken = withLock(body)
        withExtendedLifetime(taken) {}
        return taken
    }
}
