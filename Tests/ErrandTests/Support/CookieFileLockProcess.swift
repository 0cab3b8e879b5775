import Foundation

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
