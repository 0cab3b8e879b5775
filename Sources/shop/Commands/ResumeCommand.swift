import Foundation

/// `shop resume`: the app's second start, which knows nothing but the cookie file.
@MainActor struct ResumeCommand {
    let baseURL: URL
    let cookieFile: URL

    /// Asks who is signed in, and returns the exit status.
    func run() async throws -> Int32 {
        let app = App(baseURL: baseURL, cookieFile: cookieFile)
        let screen = ProfileScreen(app)
        screen.appear()
        try await screen.content()
        try expect(screen.profile?.account == "lin", "somebody else is signed in")
        app.terminal.write(Table(app.wire.exchanges), .quiet)
        return EXIT_SUCCESS
    }
}
