import Errand
import Foundation

/// Prints the reachability status, one line for each change.
enum NetworkWatch {
    /// Exits after `count` lines.
    static func run(_ count: Int) -> Never {
        Task.detached {
            for await status in Reachability.system.updates.prefix(count) { printLine("\(status)") }
            exit(0)
        }
        dispatchMain()
    }
}
