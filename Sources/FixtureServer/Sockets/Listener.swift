import Foundation

/// A socket that accepts connections on loopback or on a path, which is removed with it.
final class Listener: Sendable {
    enum Address {
        case ipv4(port: UInt16)
        case ipv6(port: UInt16)
        case path(String)
    }

    enum Acceptance: ~Copyable {
        case connection(Descriptor)
        case none
        case outOfDescriptors
    }

    private let descriptor: Descriptor
    private let path: String?

    /// Binds a socket that refuses connections until ``listen(backlog:)``.
    init(_ address: Address) throws {
        path = address.path
        let number = socket(address.family, System.streamSocket, 0)
        guard number >= 0 else { throw SystemError("socket") }
        descriptor = Descriptor(number)
        System.prepare(number)
        setOption(SOL_SOCKET, SO_REUSEADDR)
        if case .ipv6 = address { setOption(Int32(IPPROTO_IPV6), IPV6_V6ONLY) }
        guard try address.withSocketAddress({ bind(number, $0, $1) }) == 0 else { throw SystemError("bind") }
    }

    deinit {
        if let path { unlink(path) }
    }

    /// The descriptor, for the poller.
    var number: Int32 { descriptor.number }

    /// The port that the listener is bound to; 0 for a path.
    var port: UInt16 {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &storage) { bytes in
            guard let address = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress,
                getsockname(number, address, &length) == 0, address.pointee.sa_family != sa_family_t(AF_UNIX)
            else { return 0 }
            // The port has the same offset in the addresses of both families.
            return UInt16(bigEndian: bytes.load(fromByteOffset: 2, as: UInt16.self))
        }
    }

    private func listen(backlog: Int32) throws -> Listener {
        guard Foundation.listen(number, backlog) == 0 else { throw SystemError("listen") }
        return self
    }

    func accept() -> Acceptance {
        let number = System.accept(number)
        if number >= 0 { return .connection(Descriptor(number)) }
        return errno == EMFILE || errno == ENFILE ? .outOfDescriptors : .none
    }

    /// Returns the listeners that `options` specify, the one on `127.0.0.1` first, and a second socket with its port.
    ///
    /// The second socket never listens. While it exists, the port is given to nobody else, and it refuses connections
    /// once its listener is gone. A system that binds no port twice has none.
    ///
    /// - Throws: ``SystemError``.
    static func all(for options: ServerOptions) throws -> (listeners: [Listener], reservation: Listener?) {
        let first = try Listener(.ipv4(port: options.port))
        let reservation = try? Listener(.ipv4(port: first.port))
        var listeners = [try first.listen(backlog: options.backlog)]
        if options.listensOnIPv6 {
            listeners.append(try Listener(.ipv6(port: first.port)).listen(backlog: options.backlog))
        }
        if let path = options.unixSocket?.path {
            unlink(path)
            listeners.append(try Listener(.path(path)).listen(backlog: options.backlog))
        }
        return (listeners, reservation)
    }

    private func setOption(_ level: Int32, _ name: Int32) {
        var on: Int32 = 1
        setsockopt(number, level, name, &on, socklen_t(MemoryLayout<Int32>.size))
    }
}

extension Listener.Address {
    fileprivate var path: String? {
        guard case .path(let path) = self else { return nil }
        return path
    }

    fileprivate var family: Int32 {
        switch self {
        case .ipv4: AF_INET
        case .ipv6: AF_INET6
        case .path: AF_UNIX
        }
    }

    fileprivate func withSocketAddress<Result>(
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) throws -> Result {
        switch self {
        case .ipv4(let port):
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
            return Self.erased(address, body)
        case .ipv6(let port):
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_addr = in6addr_loopback
            return Self.erased(address, body)
        case .path(let path):
            return Self.erased(try Self.address(ofPath: path), body)
        }
    }

    private static func address(ofPath path: String) throws -> sockaddr_un {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw SystemError("bind", code: ENAMETOOLONG)
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return address
    }

    private static func erased<Address, Result>(
        _ address: Address,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<Address>.size))
            }
        }
    }
}
