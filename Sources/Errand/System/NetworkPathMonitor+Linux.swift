#if os(Linux)
import Dispatch
import Foundation

/// Monitors whether the network is reachable.
enum NetworkPathMonitor {
    /// Monitors links and addresses; `nil` when netlink is not permitted, or there is no descriptor for it.
    static func start(_ report: @escaping Reachability.Report) -> Reachability.Stop? {
        guard let socket = try? NetlinkSocket() else {
            // Without this, `unreachable` would never end.
            report(.unknown)
            return nil
        }
        let queue = DispatchQueue(label: "errand.reachability")
        // Dispatch allows to cancel a source on any thread, but does not declare it on Linux.
        nonisolated(unsafe) let source = DispatchSource.makeReadSource(fileDescriptor: socket.number, queue: queue)
        source.setEventHandler {
            socket.drain()
            report(.current)
        }
        // The descriptor must not be closed before the source is cancelled.
        source.setCancelHandler { withExtendedLifetime(socket) {} }
        report(.current)
        source.activate()
        return { source.cancel() }
    }
}

/// A socket on which the kernel reports changes of links and addresses (`rtnetlink(7)`).
private final class NetlinkSocket: Sendable {
    // The C module does not contain `linux/rtnetlink.h`; these are its constants, and below its address.
    private static let route: Int32 = 0
    private static let linksAndAddresses: UInt32 = 0x1 | 0x10 | 0x100

    private struct Address {
        var family = sa_family_t(AF_NETLINK)
        var padding: UInt16 = 0
        var port: UInt32 = 0
        var groups: UInt32 = linksAndAddresses
    }

    private let descriptor: FileDescriptor

    /// Opens the socket, which stores all messages from now on.
    init() throws(SystemError) {
        let type = Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        descriptor = try FileDescriptor(owning: socket(AF_NETLINK, type, Self.route), from: "socket")
        let result = withUnsafeBytes(of: Address()) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { bind(number, $0.baseAddress, socklen_t(bytes.count)) }
        }
        guard result == 0 else { throw .last("bind") }
    }

    /// The number of the descriptor, which is open until this object is released.
    var number: Int32 { descriptor.number }

    /// Discards the received messages.
    ///
    /// Their contents are not needed, because the reader queries the current state. So no change is missed either when the
    /// kernel had no room for more messages, which it reports as `ENOBUFS`.
    func drain() {
        var byte: UInt8 = 0
        repeat {} while recv(number, &byte, 1, 0) >= 0 || errno == ENOBUFS || errno == EINTR
    }
}

extension FileDescriptor {
    /// Takes ownership of the result of a system call.
    fileprivate init(owning result: CInt, from call: String) throws(SystemError) {
        guard result >= 0 else { throw .last(call) }
        number = result
    }
}
#endif
