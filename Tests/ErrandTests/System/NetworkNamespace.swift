#if os(Linux)
/// A network with nothing in it but loopback, in which a process watches while a shell changes it.
enum NetworkNamespace {
    /// Whether this process may make one, and put a cable of two ends into it.
    static let isPermitted = TestProgram.succeeds(["unshare", "-rn", "sh", "-c", cable])

    /// Lays a cable with the ends `v0` and `v1`, both down.
    static let cable = "ip link add v0 type veth peer name v1"

    /// What the probe says at first, and after each of the shell's `changes`, which know the probe's process as `$probe`.
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
