import Foundation
import Testing

@testable import Errand

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

/// A probe that holds the lock of a cookie file until it is released.
final class CookieFileLockProcess {
    private let program: TestProgram

    /// Returns when the lock is held.
    init(of file: URL) throws {
        let output = Pipe()
        program = try TestProgram([CookieProbe.path, "hold", file.path(percentEncoded: false)], output: output)
        _ = try output.line(behind: "held")
    }

    func send(_ signal: Int32) { program.send(signal) }

    func kill() throws {
        program.stop()
        _ = try program.waitForEnding()
    }
}

/// Records the errors of an error hook.
final class CookieFileErrorRecorder: Sendable {
    private let errors = Lock<[CookieFileError]>([])
    var kinds: [CookieFileError.Kind] { errors.withLock { $0.map(\.kind) } }

    @Sendable func report(_ error: CookieFileError) { errors.withLock { $0.append(error) } }
}

/// Records a problem of a cookie file as an issue while the test's folder exists.
///
/// A jar saves a moment after its last change, which may be after the end of a test and of its folder.
func recordIssue(_ error: CookieFileError, _ comment: String = "", while folder: TemporaryFolder?) {
    guard folder != nil else { return }
    Issue.record("\(comment)\(error)")
}
