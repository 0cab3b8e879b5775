#if os(Linux)
import Dispatch

/// What the system tells of the way to the network.
enum SystemPath {
    /// Watches links and addresses; `nil` where netlink is refused, or no descriptor is left for it.
    static func watch(_ report: @escaping Reachability.Report) -> Reachability.Stop? {
        guard let socket = try? NetlinkSocket() else {
            // Who waits for the end of `unreachable` would never hear of it.
            report(.unknown)
            return nil
        }
        let queue = DispatchQueue(label: "errand.reachability")
        // Any thread may cancel a source, which Dispatch on Linux does not say.
        nonisolated(unsafe) let source = DispatchSource.makeReadSource(fileDescriptor: socket.number, queue: queue)
        source.setEventHandler {
            socket.drain()
            report(.current)
        }
        // The descriptor may be closed only when the source has let go of it.
        source.setCancelHandler { withExtendedLifetime(socket) {} }
        report(.current)
        source.activate()
        return { source.cancel() }
    }
}
#endif
