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

    /// Causes a server error, a refusal and a timeout, and checks each message for the customer.
    func meetTroubles() async throws {
        let screen = TroubleScreen(app)
        screen.askBrokenServer()
        try await screen.failure().expect(.http, status: 500, code: 500, "服务器开小差了，请稍后再试")
        screen.askBusyShop()
        try await screen.failure().expect(.server, status: 200, code: 5001, "本店今日盘点，暂停下单")
        screen.askSlowServer()
        try await screen.failure().expect(.timeout, status: nil, code: nil, "网络太慢，请稍后再试")
    }
}

extension APIError {
    fileprivate func expect(
        _ type: APIErrorType,
        status: Int?,
        code: ServerCode?,
        _ message: String
    ) throws(StepFailure) {
        let isRight = self.type == type && self.status == status && self.code == code && self.message == message
        guard isRight else { throw StepFailure("\(type) was expected, this came: \(self), \(self.message)") }
    }
}
