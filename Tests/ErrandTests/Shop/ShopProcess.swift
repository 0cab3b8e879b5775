import Foundation
import Testing

/// The built `shop` in a child process, which is ended when it takes too long.
@MainActor struct ShopProcess {
    /// How the process ended.
    struct Ending {
        let status: Int32
        let output: String
        let complaint: String
    }

    private static let executable = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appending(path: "shop")
    private static let limit = Duration.seconds(60)

    let arguments: [String]
    private let folder: TemporaryFolder
    private let process = Process()

    /// Prepares `shop` with `arguments`; its temporary files go to a folder of its own.
    init(_ arguments: [String]) throws {
        self.arguments = arguments
        folder = try TemporaryFolder()
        process.executableURL = Self.executable
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(["TMPDIR": temporary.path]) { $1 }
        try FileManager.default.createDirectory(at: temporary, withIntermediateDirectories: true)
    }

    private var temporary: URL { folder.url.appending(path: "tmp") }

    /// What the process has left behind in the folder for temporary files.
    var leftovers: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: temporary.path) }
    }

    /// Runs the process to its end; where no `output` is given, what it writes is kept.
    func run(output: FileHandle? = nil) async throws -> Ending {
        let (outputFile, complaintFile) = (
            folder.url.appending(path: "output"), folder.url.appending(path: "complaint")
        )
        try Data().write(to: outputFile)
        try Data().write(to: complaintFile)
        process.standardOutput = try output ?? FileHandle(forWritingTo: outputFile)
        process.standardError = try FileHandle(forWritingTo: complaintFile)
        let status = try await status()
        return Ending(
            status: status,
            output: String(decoding: try Data(contentsOf: outputFile), as: UTF8.self),
            complaint: String(decoding: try Data(contentsOf: complaintFile), as: UTF8.self)
        )
    }

    /// Sends the process `SIGINT`, as Ctrl-C does.
    func interrupt() { process.interrupt() }

    private func status() async throws -> Int32 {
        // Held by the watchdog, the folder would outlive the test.
        let watchdog = Task { [process, arguments] in
            try await Task.sleep(for: Self.limit)
            Issue.record("shop \(arguments) did not end within \(Self.limit)")
            process.terminate()
        }
        defer { watchdog.cancel() }
        return try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
    }
}
