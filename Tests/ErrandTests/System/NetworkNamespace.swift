#if os(Linux)
@testable import ErrandTestSupport

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
#endif
