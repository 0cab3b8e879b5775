import Synchronization

@testable import Errand

extension APIProxy {
    /// How many loads take part in shared exchanges.
    var memberCount: Int {
        state.withLock { $0.sharedExchanges.values.reduce(0) { $0 + $1.members.count } }
    }
}
