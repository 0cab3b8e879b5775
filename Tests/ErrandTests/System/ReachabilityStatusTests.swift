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
        #expect(ReachabilityStatus(of: interfaces) == .unknown)
    }

    @Test(arguments: [
        "192.168.1.7", "10.1.2.3", "8.8.8.8", "169.253.0.1", "2001:db8::1", "fd00::2", "64:ff9b::1", "fec0::1",
    ])
    func `A running interface with an address of a network is reachable`(_ address: String) {
        let interfaces = [Self.loopback, Self.entry(Self.running), Self.entry(Self.running, address)]
        #expect(ReachabilityStatus(of: interfaces) == .reachable)
    }

    @Test(arguments: ["fe80::1", "febf::1", "::1", "::", "0.0.0.0", "127.0.0.53"])
    func `An address that cannot be reached does not count`(_ address: String) {
        let interfaces = [Self.loopback, Self.entry(Self.running), Self.entry(Self.running, address)]
        #expect(ReachabilityStatus(of: interfaces) == .unreachable)
    }

    @Test(arguments: [IFF_BROADCAST, IFF_UP | IFF_BROADCAST, IFF_RUNNING | IFF_BROADCAST])
    func `An address of an interface that is down or has no cable does not count`(_ flags: Int) {
        let interfaces = [Self.loopback, Self.entry(flags), Self.entry(flags, "192.168.1.7")]
        #expect(ReachabilityStatus(of: interfaces) == .unreachable)
    }

    @Test func `One working interface is enough`() {
        let interfaces = [
            Self.entry(IFF_BROADCAST), Self.entry(Self.running, "fe80::1"), Self.entry(Self.running, "10.0.0.2"),
        ]
        #expect(ReachabilityStatus(of: interfaces) == .reachable)
    }

    @Test func `With a self-assigned address the status is unknown`() {
        let selfAssigned = Self.entry(Self.running, "169.254.76.1")
        #expect(ReachabilityStatus(of: [Self.loopback, selfAssigned]) == .unknown)
        #expect(ReachabilityStatus(of: [selfAssigned, Self.entry(Self.running, "10.0.0.2")]) == .reachable)
        #expect(ReachabilityStatus(of: [Self.entry(IFF_UP, "169.254.76.1")]) == .unreachable)
    }

    @Test func `The kernel's placeholders do not count, and a tunnel in use does`() {
        let tunnel = IFF_POINTOPOINT | IFF_NOARP
        #expect(
            ReachabilityStatus(of: [Self.loopback, Self.entry(tunnel), Self.entry(IFF_BROADCAST | IFF_NOARP)])
                == .unknown
        )
        #expect(ReachabilityStatus(of: [Self.loopback, Self.entry(tunnel | IFF_UP)]) == .unreachable)
        #expect(ReachabilityStatus(of: [Self.entry(tunnel | IFF_UP | IFF_RUNNING, "100.64.0.1")]) == .reachable)
    }

    @Test func `The interfaces of this machine are listed with flags and addresses`() throws {
        let interfaces = try #require(NetworkInterface.all())
        let loopback = try #require(interfaces.first { $0.isLoopback })
        #expect(loopback.address.isEmpty)
        if loopback.isRunning { #expect(interfaces.contains { $0.isLoopback && $0.address == [127, 0, 0, 1] }) }
    }

    private static func entry(_ flags: Int, _ address: String = "") -> NetworkInterface {
        NetworkInterface(flags: UInt32(flags), address: bytes(of: address))
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
