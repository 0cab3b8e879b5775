#if os(Linux)
@testable import ErrandTestSupport

/// A network with only a loopback interface, which a process monitors while a shell changes it.
enum NetworkNamespace {
    /// Whether this process may create such a network, with a cable of two ends.
    static let isPermitted = TestProgram.succeeds(["unshare", "-rn", "sh", "-c", cable])

    /// Adds a cable with the ends `v0` and `v1`, both down.
    static let cable = "ip link add v0 type veth peer name v1"

    /// Returns the probe's output at first and after each of the shell's `changes`, in which `$probe` is the probe's process.
    static func statuses(after changes: [String]) async throws -> [String] {
        let steps = ([":"] + changes).map { "\($0); read -r status; echo \"$status\"" }
        let script = """
            sh -c 'echo $$; exec "$0" watch \(steps.count)' "$0" | {
            read -r probe
            \(steps.joined(separator: "\n"))
            }
            """
        return try await TestProgram.run(["unshare", "-rn", "sh", "-c", script, CookieProbe.path]).lines
    }
}
#endif
