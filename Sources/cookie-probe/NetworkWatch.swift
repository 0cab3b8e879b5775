import Errand
import Foundation

/// Tells what the library knows of the network, a line for each change.
enum NetworkWatch {
    /// Ends after `count` lines.
    static func run(_ count: Int) -> Never {
        Task.detached {
            for await status in Reachability.system.updates.prefix(count) { say("\(status)") }
            exit(0)
        }
        dispatchMain()
    }
}
