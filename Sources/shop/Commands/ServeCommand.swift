import FixtureServer
import Foundation

/// `shop serve`: serves the shop's API until interrupted.
@MainActor struct ServeCommand {
    /// The port; 0 chooses a free one.
    let port: UInt16

    /// Serves until interrupted, and returns the exit status.
    func run() async throws -> Int32 {
        var options = ServerOptions()
        options.port = port
        options.recordedRequests = 0
        let server = try FixtureServer.startShop(options)
        explain(server.baseURL.absoluteString)
        _ = await Interruption.wait()
        server.stop(grace: .seconds(1))
        return EXIT_SUCCESS
    }

    private func explain(_ url: String) {
        let terminal = Terminal()
        terminal.write("The shop is open at \(url) until interrupted. For instance:")
        for command in examples(url) { terminal.write("   " + command) }
    }

    private func examples(_ url: String) -> [String] {
        [
            "curl -c cookies.txt --json '{\"account\":\"lin\",\"password\":\"errand-1\"}' \(url)/account/login",
            "curl --json '{\"category\":7}' \(url)/mall/shopList",
            "curl -b cookies.txt '\(url)/orders?page=1&pageSize=20'",
        ]
    }
}
