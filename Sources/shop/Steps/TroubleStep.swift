import Errand

extension Walk {
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
