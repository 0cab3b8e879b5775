#if os(Linux)
import Foundation

/// A socket on which the kernel tells that links or addresses have changed (`rtnetlink(7)`).
final class NetlinkSocket: Sendable {
    // The C module leaves `linux/rtnetlink.h` out; these are its numbers, and its address below.
    private static let route: Int32 = 0
    private static let linksAndAddresses: UInt32 = 0x1 | 0x10 | 0x100

    private struct Address {
        var family = sa_family_t(AF_NETLINK)
        var padding: UInt16 = 0
        var port: UInt32 = 0
        var groups: UInt32 = linksAndAddresses
    }

    private let descriptor: FileDescriptor

    /// Listens from now on; the messages that come meanwhile wait in the socket.
    init() throws(SystemError) {
        let type = Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        descriptor = try FileDescriptor(owning: socket(AF_NETLINK, type, Self.route), from: "socket")
        let result = withUnsafeBytes(of: Address()) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { bind(number, $0.baseAddress, socklen_t(bytes.count)) }
        }
        guard result == 0 else { throw .last("bind") }
    }

    /// The number of the descriptor, which is open as long as this object lives.
    var number: Int32 { descriptor.number }

    /// Throws away what has come.
    ///
    /// What a message says does not matter: whoever hears that there was one looks for himself. So nothing is lost either
    /// when the kernel had no room for more of them, which it tells with `ENOBUFS`.
    func drain() {
        var byte: UInt8 = 0
        repeat {} while recv(number, &byte, 1, 0) >= 0 || errno == ENOBUFS || errno == EINTR
    }
}

extension FileDescriptor {
    /// Takes what a system call returned.
    fileprivate init(owning result: CInt, from call: String) throws(SystemError) {
        guard result >= 0 else { throw .last(call) }
        number = result
    }
}
#endif
