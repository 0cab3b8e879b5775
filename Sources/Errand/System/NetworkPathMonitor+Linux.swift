#if os(Linux)
import Dispatch
import Foundation

enum NetworkPathMonitor {
    /// `nil` when netlink is not permitted, or there is no descriptor for it.
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

/// A socket on which the kernel reports changes of links, addresses and routes (`rtnetlink(7)`).
private final class NetlinkSocket: Sendable {
    // The C module does not contain `linux/rtnetlink.h`; these are its constants, and below its address.
    private static let route: Int32 = 0
    private static let linksAddressesAndRoutes: UInt32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400

    private struct Address {
        var family = sa_family_t(AF_NETLINK)
        var padding: UInt16 = 0
        var port: UInt32 = 0
        var groups: UInt32 = linksAddressesAndRoutes
    }

    private let descriptor: FileDescriptor

    /// The socket stores all messages from now on.
    init() throws(SystemError) {
        let type = Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        descriptor = try FileDescriptor(owning: socket(AF_NETLINK, type, Self.route), from: "socket")
        let result = withUnsafeBytes(of: Address()) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { bind(number, $0.baseAddress, socklen_t(bytes.count)) }
        }
        guard result == 0 else { throw .last("bind") }
    }

    /// Open until this object is released.
    var number: Int32 { descriptor.number }

    /// Discards the messages, because the reader queries the current state.
    ///
    /// So no change is missed either when the kernel had no room for more messages, which it reports as `ENOBUFS`.
    func drain() {
        var byte: UInt8 = 0
        repeat {} while recv(number, &byte, 1, 0) >= 0 || errno == ENOBUFS || errno == EINTR
    }
}

extension FileDescriptor {
    fileprivate init(owning result: CInt, from call: String) throws(SystemError) {
        guard result >= 0 else { throw .last(call) }
        number = result
    }
}

/// One entry of the system's list of interfaces, which has one for each interface and one for each address.
struct NetworkInterface: Equatable {
    var name: String
    var flags: UInt32
    /// IPv4 or IPv6; empty in the entry for the interface itself.
    var address: [UInt8] = []

    static func all() -> [NetworkInterface]? {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { return nil }
        defer { freeifaddrs(first) }
        guard let first else { return [] }
        return sequence(first: first) { $0.pointee.ifa_next }.map { entry in
            NetworkInterface(
                // An IPv4 address may have a label after a colon.
                name: String(String(cString: entry.pointee.ifa_name).prefix { $0 != ":" }),
                flags: entry.pointee.ifa_flags,
                address: bytes(of: entry.pointee.ifa_addr)
            )
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

    /// Whether the kernel creates the interface in every namespace and it is not configured, such as `tunl0`.
    var isPlaceholder: Bool { has(IFF_NOARP) && !has(IFF_UP) }

    var isRunning: Bool { has(IFF_UP) && has(IFF_RUNNING) }

    private func has(_ flag: some BinaryInteger) -> Bool { flags & UInt32(flag) != 0 }
}

/// How far an address can be reached.
enum AddressScope {
    /// Not at all: no address, `0.0.0.0/8`, loopback, or IPv6 link-local, which every connected interface has.
    case none
    /// `169.254.0.0/16`: the address of a host that was not assigned one (RFC 3927), and the only one of some hosted machines.
    case selfAssigned
    /// Possibly beyond the link.
    case network

    init(_ address: [UInt8]) {
        switch (address.count, address.first) {
        case (4, 0), (4, 127): self = .none
        case (4, _): self = address.starts(with: [169, 254]) ? .selfAssigned : .network
        case (16, _):
            let isLinkLocal = address[0] == 0xFE && address[1] & 0xC0 == 0x80
            let isUnspecifiedOrLoopback = address.dropLast().allSatisfy { $0 == 0 } && address[15] <= 1
            self = isLinkLocal || isUnspecifiedOrLoopback ? .none : .network
        default: self = .none
        }
    }
}

extension NetworkKind {
    /// Reads the kind of an interface from its files of `sysfs`; `other` where that is not mounted.
    init(ofInterface name: String, in folder: String = "/sys/class/net") {
        let files = URL(filePath: folder).appending(path: name)
        func text(_ file: String) -> String? { try? String(contentsOf: files.appending(path: file), encoding: .utf8) }
        func has(_ file: String) -> Bool {
            FileManager.default.fileExists(atPath: files.appending(path: file).path)
        }
        let type = text("uevent")?.split(separator: "\n").first { $0.hasPrefix("DEVTYPE=") }?.dropFirst(8)
        switch type {
        case "wlan": self = .wireless
        case "wwan": self = .cellular
        case nil where has("wireless") || has("phy80211"): self = .wireless
        // ARPHRD_ETHER, which tap devices have as well.
        case nil where text("type") == "1\n" && !has("tun_flags"): self = .wired
        default: self = .other
        }
    }
}

/// The routes of the kernel's main tables.
enum RouteTable {
    /// The interface of the default route with the lowest metric, of IPv4 if there is one.
    ///
    /// `table` is the text of `/proc/net/route`, and `ipv6` that of `/proc/net/ipv6_route`.
    static func defaultInterface(in table: String, ipv6: String = "") -> String? {
        first(of: table) { fields in
            guard fields.count > 7, fields[1] == "00000000", fields[7] == "00000000" else { return nil }
            return Int(fields[6]).map { (fields[0], $0) }
        }
            ?? first(of: ipv6) { fields in
                let isDefault = fields.count > 9 && fields[1] == "00" && fields[0].allSatisfy { $0 == "0" }
                // The loopback interface has the route that refuses what has no other one.
                guard isDefault, fields[9] != "lo" else { return nil }
                return Int(fields[5], radix: 16).map { (fields[9], $0) }
            }
    }

    private static func first(
        of table: String,
        _ route: ([Substring]) -> (name: Substring, metric: Int)?
    ) -> String? {
        table.split(separator: "\n").compactMap { route($0.split(whereSeparator: \.isWhitespace)) }
            .min { $0.metric < $1.metric }.map { String($0.name) }
    }
}

extension ReachabilityStatus {
    static var current: ReachabilityStatus {
        guard let interfaces = NetworkInterface.all() else { return .unknown }
        func text(_ name: String) -> String {
            (try? String(contentsOfFile: "/proc/net/\(name)", encoding: .utf8)) ?? ""
        }
        let preferred = RouteTable.defaultInterface(in: text("route"), ipv6: text("ipv6_route"))
        return ReachabilityStatus(of: interfaces, preferring: preferred) { NetworkKind(ofInterface: $0) }
    }

    /// In doubt, the status is not `unreachable`, because requests may be delayed until that ends.
    ///
    /// Routes are not checked: a server in the same network does not require a default route. The kind is that of the preferred
    /// interface, else of the first.
    init(
        of interfaces: [NetworkInterface],
        preferring preferred: String? = nil,
        kind: (String) -> NetworkKind
    ) {
        let others = interfaces.filter { !$0.isLoopback && !$0.isPlaceholder }
        let connected = others.filter(\.isRunning)
        let names = connected.filter { AddressScope($0.address) == .network }.map(\.name)
        if let name = names.first(where: { $0 == preferred }) ?? names.first {
            self = .reachable(kind(name))
        } else if others.isEmpty || connected.contains(where: { AddressScope($0.address) == .selfAssigned }) {
            self = .unknown
        } else {
            self = .unreachable
        }
    }
}
#endif
