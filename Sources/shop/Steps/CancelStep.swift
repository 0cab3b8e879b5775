import Errand

extension Walk {
    /// Starts a slow request, and cancels it by its ID after it has reached the server.
    func cancelSlowRequest() async throws {
        let start = try await debugging.log()
        let screen = SlowScreen(app)
        let id = screen.appear()
        try await debugging.waitForHit(of: "/slow", since: start)
        try expect(app.proxy.activeRequests.map(\.id) == [id], "the proxy does not know the request as active")
        try expect(app.proxy.cancelRequest(id), "there was nothing to cancel")
        try expect(!app.proxy.cancelRequest(id), "it could be cancelled twice")
        guard case .cancelled = try await screen.update() else { throw StepFailure("the screen heard no cancel") }
        let exchange = try await app.wire.exchange { $0.path.contains("/slow?") }
        try expect(exchange.error?.type == .cancelled, "the exchange was not cut off")
        try expect(app.proxy.activeRequests.isEmpty, "the proxy still knows an active request")
    }
}
