import Foundation

@testable import ErrandTestSupport

/// The built `shop` in a child process, which is ended at a deadline.
struct ShopProcess {
    private let folder: TemporaryFolder
    private let program: TestProgram

    /// Starts `shop` with `arguments` and a separate folder for temporary files.
    ///
    /// Its output is kept, except for the standard output when `output` is given.
    init(_ arguments: [String], output: Pipe? = nil) throws {
        folder = try TemporaryFolder()
        program = try TestProgram(
            [TestProgram.built("shop")] + arguments,
            environment: ["TMPDIR": folder.url.path],
            output: output
        )
    }

    /// Runs `shop` to its end.
    static func run(_ arguments: [String]) async throws -> TestProgram.Ending {
        try await ShopProcess(arguments).ending()
    }

    /// The files that the process has left in its folder for temporary files.
    var leftovers: [String] { get throws { try folder.names } }

    /// Waits for the process's end.
    func ending() async throws -> TestProgram.Ending { try await program.ending() }

    /// Sends the process `SIGINT`, as Ctrl-C does.
    func interrupt() { program.send(SIGINT) }
}
