import Errand

extension Walk {
    /// Starts the app again in a new process, with only the cookie file.
    func startAgain() async throws {
        try app.proxy.cookies.flush()
        let start = try await debugging.log()
        let status = try await SecondStart(baseURL: app.baseURL, cookieFile: cookieFile).run()
        try expect(status == 0, "the new process ended with status \(status)")
        let log = try await debugging.log().since(start)
        try expect(log.hits == ["/account/me": 1], "the new process asked for something else than who is signed in")
        try expect(log.refused == 0, "the new process was refused")
    }
}
