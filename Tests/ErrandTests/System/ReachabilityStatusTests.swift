#if os(Linux)
import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("The status for a list of interfaces", .timeLimit(.minutes(10)))
struct ReachabilityStatusTests {
    private static let running = IFF_UP | IFF_RUNNING | IFF_BROADCAST
    private static let loopback = entry(IFF_UP | IFF_RUNNING | IFF_LOOPBACK, "127.0.0.1")

    @Test(arguments: [
        [], [loopback], [entry(IFF_LOOPBACK)], [loopback, entry(IFF_UP | IFF_RUNNING | IFF_LOOPBACK, "10.0.0.1")],
    ])
    func `Loopback alone is unknown`(_ interfaces: [NetworkInterface]) {
        #expect(Self.status(of: interfaces) == .unknown)
    }

    @Test(arguments: [
        "192.168.1.7", "10.1.2.3", "8.8.8.8", "169.253.0.1", "2001:db8::1", "fd00::2", "64:ff9b::1", "fec0::1",
    ])
    func `A running interface with an address of a network is reachable`(_ address: String) {
        let interfaces = [Self.loopback, Self.entry(Self.running), Self.entry(Self.running, address)]
        #expect(Self.status(of: interfaces) == .reachable(.wired))
    }

    @Test(arguments: ["fe80::1", "febf::1", "::1", "::", "0.0.0.0", "127.0.0.53"])
    func `An address that cannot be reached does not count`(_ address: String) {
        let interfaces = [Self.loopback, Self.entry(Self.running), Self.entry(Self.running, address)]
        #expect(Self.status(of: interfaces) == .unreachable)
    }

    @Test(arguments: [IFF_BROADCAST, IFF_UP | IFF_BROADCAST, IFF_RUNNING | IFF_BROADCAST])
    func `An address of an interface that is down or has no cable does not count`(_ flags: Int) {
        let interfaces = [Self.loopback, Self.entry(flags), Self.entry(flags, "192.168.1.7")]
        #expect(Self.status(of: interfaces) == .unreachable)
    }

    @Test func `One working interface is enough`() {
        let interfaces = [
            Self.entry(IFF_BROADCAST), Self.entry(Self.running, "fe80::1"), Self.entry(Self.running, "10.0.0.2"),
        ]
        #expect(Self.status(of: interfaces) == .reachable(.wired))
    }

    @Test func `With a self-assigned address the status is unknown`() {
        let selfAssigned = Self.entry(Self.running, "169.254.76.1")
        #expect(Self.status(of: [Self.loopback, selfAssigned]) == .unknown)
        #expect(Self.status(of: [selfAssigned, Self.entry(Self.running, "10.0.0.2")]) == .reachable(.wired))
        #expect(Self.status(of: [Self.entry(IFF_UP, "169.254.76.1")]) == .unreachable)
    }

    @Test func `The kernel's placeholders do not count, and a tunnel in use does`() {
        let tunnel = IFF_POINTOPOINT | IFF_NOARP
        #expect(
            Self.status(of: [Self.loopback, Self.entry(tunnel), Self.entry(IFF_BROADCAST | IFF_NOARP)])
                == .unknown
        )
        #expect(Self.status(of: [Self.loopback, Self.entry(tunnel | IFF_UP)]) == .unreachable)
        #expect(Self.status(of: [Self.entry(tunnel | IFF_UP | IFF_RUNNING, "100.64.0.1")]) == .reachable(.wired))
    }

    @Test func `The interfaces of this machine are listed with flags and addresses`() throws {
        let interfaces = try #require(NetworkInterface.all())
        let loopback = try #require(interfaces.first { $0.isLoopback })
        #expect(loopback.address.isEmpty)
        if loopback.isRunning { #expect(interfaces.contains { $0.isLoopback && $0.address == [127, 0, 0, 1] }) }
    }

    @Test func `The kind is that of the preferred interface, else of the first one with an address`() {
        let interfaces = [
            Self.entry(Self.running, name: "bare"), Self.entry(Self.running, "10.0.0.2", name: "first"),
            Self.entry(Self.running, "10.0.1.2", name: "second"), Self.entry(IFF_UP, "10.0.2.2", name: "down"),
        ]
        for (preferred, expected) in [
            (nil, "first"), ("second", "second"), ("first", "first"), ("bare", "first"), ("down", "first"),
            ("?", "first"),
        ] {
            var asked: [String] = []
            let status = ReachabilityStatus(of: interfaces, preferring: preferred) { name in
                asked.append(name)
                return .cellular
            }
            #expect(status == .reachable(.cellular))
            #expect(asked == [expected])
        }
    }

    @Test func `The default route is the one with the lowest metric`() {
        let table = """
            Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
            docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
            wlan0\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0
            tun0\t00000000\t0100080A\t0003\t0\t0\t50\t00000000\t0\t0\t0
            tun1\t00000000\t0100080A\t0003\t0\t0\t0\t00000080\t0\t0\t0
            """
        #expect(RouteTable.defaultInterface(in: table) == "tun0")
        #expect(RouteTable.defaultInterface(in: table.split(separator: "\n").prefix(2).joined(separator: "\n")) == nil)
        #expect(RouteTable.defaultInterface(in: "") == nil)
        let zeros = String(repeating: "0", count: 32)
        let ipv6 = """
            fd00\(zeros.dropFirst(4)) 40 \(zeros) 00 \(zeros) 00000100 00000001 00000000 00000001 eth0
            \(zeros) 00 \(zeros) 00 fe80\(zeros.dropFirst(4)) 00000400 00000003 00000000 00000003 wlan0
            \(zeros) 00 \(zeros) 00 fe80\(zeros.dropFirst(4)) 00000064 00000003 00000000 00000003 wwan0
            \(zeros) 00 \(zeros) 00 \(zeros) ffffffff 00000001 00000000 00200200 lo
            """
        #expect(RouteTable.defaultInterface(in: "", ipv6: ipv6) == "wwan0")
        #expect(RouteTable.defaultInterface(in: table, ipv6: ipv6) == "tun0")
        let last = ipv6.split(separator: "\n").suffix(1).joined()
        #expect(RouteTable.defaultInterface(in: "", ipv6: last) == nil)
    }

    @Test(arguments: [
        (["type": "1\n", "uevent": "INTERFACE=x0\nIFINDEX=4\n"], NetworkKind.wired),
        (["type": "1\n", "uevent": "DEVTYPE=wlan\nINTERFACE=x0\n"], .wireless),
        (["type": "1\n", "uevent": "INTERFACE=x0\n", "wireless": ""], .wireless),
        (["type": "1\n", "uevent": "INTERFACE=x0\n", "phy80211": ""], .wireless),
        (["type": "65534\n", "uevent": "DEVTYPE=wwan\nINTERFACE=x0\n"], .cellular),
        (["type": "1\n", "uevent": "DEVTYPE=bridge\nINTERFACE=x0\n"], .other),
        (["type": "1\n", "uevent": "INTERFACE=x0\n", "tun_flags": "0x1002\n"], .other),
        (["type": "65534\n", "uevent": "INTERFACE=x0\n"], .other), ([:], .other),
    ])
    func `The kind is read from the files of the interface`(_ files: [String: String], _ kind: NetworkKind) throws {
        let folder = try TemporaryFolder()
        let interface = folder.url.appending(path: "x0")
        try FileManager.default.createDirectory(at: interface, withIntermediateDirectories: true)
        for (name, text) in files { try Data(text.utf8).write(to: interface.appending(path: name)) }
        #expect(NetworkKind(ofInterface: "x0", in: folder.url.path) == kind)
    }

    private static func status(of interfaces: [NetworkInterface]) -> ReachabilityStatus {
        ReachabilityStatus(of: interfaces) { _ in .wired }
    }

    private static func entry(_ flags: Int, _ address: String = "", name: String = "x0") -> NetworkInterface {
        NetworkInterface(name: name, flags: UInt32(flags), address: bytes(of: address))
    }

    private static func bytes(of address: String) -> [UInt8] {
        var (four, sixteen) = (in_addr(), in6_addr())
        if inet_pton(AF_INET, address, &four) == 1 { return withUnsafeBytes(of: four, Array.init) }
        if inet_pton(AF_INET6, address, &sixteen) == 1 { return withUnsafeBytes(of: sixteen, Array.init) }
        precondition(address.isEmpty, "\(address) is no address")
        return []
    }
}
#endif
