import Errand

extension Walk {
    /// Signs in, and checks that the session's cookie is in the jar.
    func signIn() async throws {
        let screen = SignInScreen(app, credentials: .demo)
        screen.submit()
        try await screen.content()
        try expect(app.account.headers["X-Token"] != nil, "the sign-in brought no token")
        try expect(sessionCookie != nil, "the sign-in brought no cookie sid")
    }
}
