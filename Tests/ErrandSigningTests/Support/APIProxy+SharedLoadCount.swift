@testable import Errand

extension APIProxy {
    /// How many loads take part in shared exchanges.
    var sharedLoadCount: Int { context.shared.memberCount }
}
