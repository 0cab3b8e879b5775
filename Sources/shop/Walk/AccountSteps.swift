import Errand
import FixtureServer
import Foundation

extension Walk {
    /// Signs in, and checks that the session's cookie is in the jar.
    func signIn() async throws {
        let screen = SignInScreen(app, credentials: .demo)
        screen.submit()
        try await screen.content()
        try expect(app.account.headers["X-Token"] != nil, "the sign-in brought no token")
        try expect(sessionCookie != nil, "the sign-in brought no cookie sid")
    }

    /// Uploads a picture; the server must receive exactly the bytes of the file.
    func uploadAvatar() async throws {
        let picture = Data.bitmap()
        let file = folder.file("avatar.bmp")
        try picture.write(to: file)
        let screen = AvatarScreen(app, picture: file)
        screen.submit()
        try await screen.content()
        try expect(screen.stored?.filename == "avatar.bmp", "the picture has another name on the server")
        try expect(screen.stored?.sha256 == SHA256.hexadecimal(of: picture), "the server got other bytes")
        try screen.progress.expectWhole(atLeast: picture.count)
    }

    /// Lets the session expire while five requests are under way, which must cause one relogin and five replays.
    func expireSession(as style: ExpiryStyle) async throws {
        try await debugging.expireSession(of: app.account, as: style)
        let start = try await debugging.log()
        let home = HomeScreen(app)
        // Without this line a request may start late, be sent with the session of the relogin, and need no replay.
        app.transport.expect(home.paths.count)
        home.appear()
        try await home.content()
        let log = try await debugging.log().since(start)
        let replays = home.paths.reduce(0) { $0 + log.hits[$1, default: 0] - 1 }
        show(["refused": log.refused, "relogins": log.logins, "replays": replays])
        try expect(log.refused == 5, "\(log.refused) requests were refused, not 5")
        try expect(log.logins == 1, "there were \(log.logins) relogins, not 1")
        try expect(home.paths.allSatisfy { log.hits[$0] == 2 }, "not every request was sent twice")
    }

    /// Starts the app again in a new process, with only the cookie file.
    func startAgain() async throws {
        try app.proxy.cookies.flush()
        let start = try await debugging.log()
        let status = try await SecondStart.run(["resume"] + childOptions)
        try expect(status == 0, "the new process ended with status \(status)")
        let log = try await debugging.log().since(start)
        try expect(log.hits == ["/account/me": 1], "the new process asked for something else than who is signed in")
        try expect(log.refused == 0, "the new process was refused")
    }

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

extension Data {
    /// Returns a picture for an avatar: a red and blue gradient as a Windows bitmap.
    fileprivate static func bitmap() -> Data {
        let (side, headerBytes): (UInt32, UInt32) = (512, 54)
        var file = Data("BM".utf8)
        let pixelBytes = side * side * 3
        file.append(words: headerBytes + pixelBytes, 0, headerBytes)
        // The information header: its size, width, height, one plane of 24 bits, uncompressed, the rest unset.
        file.append(words: 40, side, side, 1 | 24 << 16, 0, pixelBytes, 0, 0, 0, 0)
        for row in 0..<side {
            for column in 0..<side { file.append(contentsOf: [UInt8(column / 2), 0, UInt8(row / 2)]) }
        }
        return file
    }

    private mutating func append(words: UInt32...) {
        for word in words { Swift.withUnsafeBytes(of: word.littleEndian) { append(contentsOf: $0) } }
    }
}
