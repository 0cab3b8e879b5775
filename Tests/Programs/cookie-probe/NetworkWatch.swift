import Errand
import Foundation

/// Prints the reachability status and the kind of the network, one line for each change.
enum NetworkWatch {
    /// Exits after `count` lines.
    static func run(_ count: Int) -> Never {
        Task.detached {
            for await status in Reachability.system.updates.prefix(count) { printLine(line(status)) }
            exit(0)
        }
        dispatchMain()
    }

    private static func line(_ status: ReachabilityStatus) -> String {
        if case .reachable(let kind) = status { "reachable \(kind)" } else { "\(status)" }
    }
}
