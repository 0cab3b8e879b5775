import Foundation

/// Runs `cookie-probe`, a process of the cookie tests that may be killed, directly or under another program.
enum CookieProbe {
    static let path = TestProgram.built("cookie-probe")
    static let isRoot = geteuid() == 0
    /// The command that runs a program as an unprivileged user.
    static let unprivilegedCommand = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    static let canRunUnprivileged = TestProgram.succeeds(unprivilegedCommand + ["true"])
    static let runsSlowTests = ProcessInfo.processInfo.environment["ERRAND_SLOW_TESTS"] == "1"
    /// Whether strace is installed and may trace.
    static let canTrace = TestProgram.succeeds(["strace", "-o", "/dev/null", "true"])
    static let canMount = TestProgram.succeeds(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"])
    static let hasCurl = TestProgram.succeeds(["curl", "--version"])

    /// Runs the probe to its end.
    static func run(_ arguments: [String], under wrapper: [String] = []) async throws -> TestProgram.Ending {
        try await TestProgram.run(wrapper + [path] + arguments)
    }
}
