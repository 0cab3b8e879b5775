extension Walk {
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
        show(log, replays: replays(of: home, in: log))
        try expect(log.refused == 5, "\(log.refused) requests were refused, not 5")
        try expect(log.logins == 1, "there were \(log.logins) relogins, not 1")
        try expect(home.paths.allSatisfy { log.hits[$0] == 2 }, "not every request was sent twice")
    }

    private func replays(of home: HomeScreen, in log: ServerLog) -> Int {
        home.paths.reduce(0) { $0 + log.hits[$1, default: 0] - 1 }
    }

    private func show(_ log: ServerLog, replays: Int) {
        var table = Table(.left("On the server"), .right("Count"))
        table.add("refused", "\(log.refused)")
        table.add("relogins", "\(log.logins)")
        table.add("replays", "\(replays)")
        app.terminal.write(table)
    }
}
