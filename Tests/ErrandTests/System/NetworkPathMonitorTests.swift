#if os(Linux)
import ErrandTesting
import Foundation
import Testing
import TestSockets
import TestSupport
@testable import Errand
@testable import ErrandTestSupport

@Suite("The network of this machine", .limitedConcurrency, .timeLimit(.minutes(10)))
struct NetworkPathMonitorTests {
    @Test func `There is no socket before the first use, one after it, and none when the object is released`() async {
        await #expect(processExitsWith: .success) {
            test_sockets_stay_as_requested()
            let before = try Self.sockets()
            _ = APIProxy(transport: ScriptedTransport())
            var reachability: Reachability? = Reachability(watching: NetworkPathMonitor.start)
            #expect(try Self.sockets() == before)
            #expect(reachability?.status == .current)
            let opened = try Self.sockets().subtracting(before)
            #expect(opened.count == 1)
            for number in opened { #expect(fcntl(number, F_GETFD) & FD_CLOEXEC != 0) }
            reachability = nil
            try await until { try Self.sockets() == before }
        }
    }

    @Test func `Without a descriptor the status is unknown, and the next use tries again`() async {
        await #expect(processExitsWith: .success) {
            let reachability = Reachability(watching: NetworkPathMonitor.start)
            var limit = rlimit()
            #expect(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            let usual = limit.rlim_cur
            limit.rlim_cur = 3
            #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            #expect([reachability.status, reachability.status] == [.unknown, .unknown])
            #expect(ReachabilityStatus.current == .unknown)
            limit.rlim_cur = usual
            #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            let before = try Self.sockets()
            #expect(reachability.status == .current)
            #expect(try Self.sockets().subtracting(before).count == 1)
        }
    }

    @Test(.enabled(if: CookieProbe.canTrace, "strace cannot trace here"))
    func `Where the system refuses sockets, the status is unknown`() async throws {
        let trace = ["strace", "-f", "-o", "/dev/null", "-e", "inject=socket:error=EACCES"]
        let probe = try await CookieProbe.run(["watch", "1"], under: trace)
        #expect(probe.lines == ["unknown"])
    }

    /// The descriptors that are sockets.
    private static func sockets() throws -> Set<Int32> {
        let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        return Set(
            names.compactMap { name in
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
                return target?.hasPrefix("socket:") == true ? Int32(name) : nil
            }
        )
    }
}

@Suite(
    "A network that changes",
    .limitedConcurrency,
    .timeLimit(.minutes(10)),
    .enabled(if: NetworkNamespace.isPermitted, "no network namespace with a veth pair can be made here")
)
struct NetworkChangeTests {
    @Test func `Added and removed cables and addresses change the status`() async throws {
        let changes = [
            NetworkNamespace.cable,
            "ip link set v0 up; ip link set v1 up; ip address add 192.0.2.1/24 dev v0",
            "ip link set v1 down",
            "ip link set v1 up",
            "ip address del 192.0.2.1/24 dev v0",
            "ip link del v0",
        ]
        let expected = ["unknown", "unreachable", "reachable", "unreachable", "reachable", "unreachable", "unknown"]
        #expect(try await NetworkNamespace.statuses(after: changes) == expected)
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/net/if_inet6"), "no IPv6 here"))
    func `An IPv6 address of a network counts`() async throws {
        let changes = [
            NetworkNamespace.cable,
            "ip link set v0 up; ip link set v1 up; ip address add 2001:db8::1/64 dev v0 nodad",
            "ip link del v0",
        ]
        let expected = ["unknown", "unreachable", "reachable", "unknown"]
        #expect(try await NetworkNamespace.statuses(after: changes) == expected)
    }

    @Test(.enabled(if: NetworkNamespace.hasFiles, "the files of the interfaces cannot be mounted here"))
    func `The kind is that of the interface with the default route`() async throws {
        let changes = [
            "\(NetworkNamespace.cable); ip link add b0 type bridge; ip link set v1 master b0",
            "ip link set v1 up; ip link set v0 up; ip address add 192.0.2.1/24 dev v0",
            "ip address add 198.51.100.1/24 dev b0; ip link set b0 up; ip route add default via 198.51.100.2 dev b0",
            "ip route del default",
        ]
        let expected = ["unknown", "unreachable", "reachable wired", "reachable other", "reachable wired"]
        #expect(try await NetworkNamespace.kinds(after: changes) == expected)
    }

    @Test func `Messages that the kernel dropped cause no missed change, and all others are read`() async throws {
        let flood = (0..<3_000).map { "address add 198.18.\($0 / 250).\($0 % 250 + 1)/32 dev v0" }
        let changes = [
            "\(NetworkNamespace.cable); ip link set v0 up; ip link set v1 up",
            """
            kill -STOP $probe
            ip -batch - <<END
            \(flood.joined(separator: "\n"))
            END
            while read -r _ _ _ _ _ _ _ _ drops _; do
            test "$drops" -gt 0 2>/dev/null && echo dropped
            done </proc/net/netlink
            kill -CONT $probe
            """,
            """
            is_empty() {
            while read -r _ _ _ groups bytes _; do
            test "$groups $bytes" = "00000551 0" && return
            done </proc/net/netlink
            return 1
            }
            until is_empty; do :; done
            ip link del v0
            """,
            NetworkNamespace.cable,
        ]
        let expected = ["unknown", "unreachable", "dropped", "reachable", "unknown", "unreachable"]
        #expect(try await NetworkNamespace.statuses(after: changes) == expected)
    }
}

/// A network with only a loopback interface, which a process monitors while a shell changes it.
enum NetworkNamespace {
    /// Whether this process may create such a network, with a cable of two ends.
    static let isPermitted = TestProgram.succeeds(["unshare", "-rn", "sh", "-c", cable])

    /// Adds a cable with the ends `v0` and `v1`, both down.
    static let cable = "ip link add v0 type veth peer name v1"

    /// Whether the files of such a network's interfaces can be mounted as well.
    static let hasFiles = isPermitted && TestProgram.succeeds(["unshare", "-rnm", "sh", "-c", mount])

    private static let mount = "mount -t sysfs none /sys"

    /// Returns the probe's output at first and after each of the shell's `changes`, in which `$probe` is the probe's process.
    static func statuses(after changes: [String]) async throws -> [String] {
        try await output(after: changes, in: "-rn", mount: ":").map { String($0.prefix { $0 != " " }) }
    }

    /// Returns the same with the kinds of the network.
    static func kinds(after changes: [String]) async throws -> [String] {
        try await output(after: changes, in: "-rnm", mount: mount)
    }

    private static func output(after changes: [String], in kind: String, mount: String) async throws -> [String] {
        let steps = ([":"] + changes).map { "\($0); read -r status; echo \"$status\"" }
        let script = """
            \(mount)
            sh -c 'echo $$; exec "$0" watch \(steps.count)' "$0" | {
            read -r probe
            \(steps.joined(separator: "\n"))
            }
            """
        return try await TestProgram.run(["unshare", kind, "sh", "-c", script, CookieProbe.path]).lines
    }
}

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
