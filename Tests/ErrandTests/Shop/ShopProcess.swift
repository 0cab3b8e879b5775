import Foundation

/// The built `shop` in a child process, which is ended when it takes too long.
struct ShopProcess {
    private let folder: TemporaryFolder
    private let program: TestProgram

    /// Starts `shop` with `arguments`; its temporary files go to a folder of its own.
    ///
    /// What it writes is kept, but for what goes to an `output` of its own.
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

    /// What the process has left behind in the folder for temporary files.
    var leftovers: [String] { get throws { try folder.names } }

    /// Waits for the process's end.
    func ending() async throws -> TestProgram.Ending { try await program.ending() }

    /// Sends the process `SIGINT`, as Ctrl-C does.
    func interrupt() { program.send(SIGINT) }
}
