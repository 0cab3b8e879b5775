import Synchronization

@testable import Errand

extension APIProxy {
    /// How many loads take part in shared exchanges.
    var memberCount: Int {
        context.shared.memberCount
    }
}
