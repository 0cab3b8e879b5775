import Errand
import ErrandInspector
import FixtureServer
import Foundation

/// `shop`: walks through the shop.
@MainActor struct WalkCommand {
    /// The exit status that shells report for `SIGINT`.
    private static let interrupted: Int32 = 130

    /// The server's URL; `nil` starts a server.
    let baseURL: URL?
    /// Where the report is written; `nil` writes none.
    let report: URL?

    /// Walks until the end or an interruption, and returns the exit status.
    func run() async throws -> Int32 {
        let walk = Task { try await takeWalk() }
        let watch = Task {
            if await Interruption.wait() != nil { walk.cancel() }
        }
        defer { watch.cancel() }
        do {
            try await walk.value
        } catch {
            guard walk.isCancelled else { throw error }
            StandardStreams.complain("interrupted")
            return Self.interrupted
        }
        return EXIT_SUCCESS
    }

    private func takeWalk() async throws {
        if let baseURL { return try await takeWalk(through: baseURL) }
        // A proxy from the environment must not be used for a server in this process.
        setenv("no_proxy", "127.0.0.1", 1)
        let server = try FixtureServer.startShop()
        defer { server.stop() }
        try await takeWalk(through: server.baseURL)
    }

    private func takeWalk(through baseURL: URL) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let recorder = report.map { _ in HARRecorder() }
        let app = App(baseURL: baseURL, cookieFile: folder.file("cookies.txt"), recorder: recorder)
        // Otherwise the jar would create the folder again when it writes its file.
        defer { try? app.proxy.cookies.flush() }
        let walk = Walk(app: app, debugging: ServerDebugging(baseURL: baseURL), folder: folder)
        guard let report, let recorder else { return try await walk.run() }
        do {
            try await walk.run()
        } catch {
            try recorder.writeReport(to: report)
            throw error
        }
        try recorder.writeReport(to: report)
        app.terminal.write("The report is \(report.path).")
    }
}
