#if os(Linux)
import Foundation

/// What the system lists of an interface: an entry for the interface itself, and one for each of its addresses.
struct NetworkInterface: Equatable {
    /// The flags of the interface (`IFF_UP` and so on).
    var flags: UInt32
    /// The bytes of an IPv4 or IPv6 address; none in the entry for the interface itself.
    var address: [UInt8] = []

    /// Every entry there is, `nil` when the system does not tell.
    static func all() -> [NetworkInterface]? {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { return nil }
        defer { freeifaddrs(first) }
        guard let first else { return [] }
        return sequence(first: first) { $0.pointee.ifa_next }.map { entry in
            NetworkInterface(flags: entry.pointee.ifa_flags, address: bytes(of: entry.pointee.ifa_addr))
        }
    }

    private static func bytes(of address: UnsafeMutablePointer<sockaddr>?) -> [UInt8] {
        guard let address else { return [] }
        let raw = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET: return withUnsafeBytes(of: raw.loadUnaligned(as: sockaddr_in.self).sin_addr, Array.init)
        case AF_INET6: return withUnsafeBytes(of: raw.loadUnaligned(as: sockaddr_in6.self).sin6_addr, Array.init)
        default: return []
        }
    }

    var isLoopback: Bool { has(IFF_LOOPBACK) }

    /// Whether it is one of those that the kernel makes in every namespace and that nobody has set up, such as `tunl0`.
    var isPlaceholder: Bool { has(IFF_NOARP) && !has(IFF_UP) }

    var isRunning: Bool { has(IFF_UP) && has(IFF_RUNNING) }

    private func has(_ flag: some BinaryInteger) -> Bool { flags & UInt32(flag) != 0 }
}
#endif
