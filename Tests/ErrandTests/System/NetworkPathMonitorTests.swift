#if os(Linux)
import ErrandTesting
import Foundation
import TestSockets
import TestSupport
import Testing

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
#endif
