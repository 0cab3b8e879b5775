import Foundation

/// `shop resume`: the app's second start, with only the cookie file.
@MainActor struct ResumeCommand {
    let baseURL: URL
    let cookieFile: URL

    /// Loads the profile of the signed-in customer, and returns the exit status.
    func run() async throws -> Int32 {
        let app = App(baseURL: baseURL, cookieFile: cookieFile)
        let screen = ProfileScreen(app)
        screen.appear()
        try await screen.content()
        try expect(screen.profile?.account == Credentials.demo.account, "another account is signed in")
        try expect(app.wire.exchanges.map(\.credentials) == ["cookie"], "it was not the cookie alone that counted")
        app.showWire()
        return EXIT_SUCCESS
    }
}
