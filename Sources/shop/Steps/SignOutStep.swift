import Errand
import Foundation

extension Walk {
    /// Signs out; then the session may exist neither in the app nor on the server.
    func signOut() async throws {
        guard let cookie = sessionCookie else { throw StepFailure("there is no session to end") }
        try expect(try fileHolds(cookie.value), "the cookie file does not hold the session")
        let screen = SignOutScreen(app)
        screen.submit()
        try await screen.content()
        try expect(sessionCookie == nil, "the session's cookie is still in the jar")
        try expect(!(try fileHolds(cookie.value)), "the cookie file still holds the session")
        try expect(!(try fileHolds(cookie.name)), "the cookie file still holds a cookie of that name")
        try await expectRefusal()
        try await expectRefusal(of: cookie)
    }

    private func fileHolds(_ text: String) throws -> Bool {
        try Data(contentsOf: cookieFile).range(of: Data(text.utf8)) != nil
    }

    private func expectRefusal() async throws {
        let screen = ProfileScreen(app)
        screen.appear()
        let error = try await screen.failure()
        try expect(error.type == .loginExpired, "the next request ended otherwise: \(error)")
        try expect(app.wire.exchanges.last?.status == 401, "the server did not refuse the next request")
        try expect(app.account.expiredSessions == 1, "the account was notified \(app.account.expiredSessions) times")
    }

    /// Sends the old cookie explicitly, as an attacker would, and expects a refusal.
    private func expectRefusal(of cookie: Cookie) async throws {
        let url = app.baseURL.appending(path: "account/me")
        let request = HTTPRequest(.get, url, headers: ["Cookie": "\(cookie.name)=\(cookie.value)"])
        let response = try await app.proxy.send(request)
        try expect(response.status == 401, "the old cookie still counts: HTTP \(response.status)")
    }
}
