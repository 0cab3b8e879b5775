import Errand
import Foundation

extension Walk {
    /// Loads from a service that accepts only signed requests.
    ///
    /// A copy of a request is refused, and so is a device whose clock is ten minutes slow, unless the server's date corrects it.
    func signRequests() async throws {
        let punctual = stockScreen()
        try await punctual.content()
        try expect(punctual.stock?.goodsID == 1002, "the stock is that of another article")
        try await expectRefusalOfCopy()
        let slow = stockScreen(clock: WrongClock(error: -600))
        let error = try await slow.failure()
        try expect(error.code == 40_002, "the wrong clock caused another error: \(error)")
        let corrected = stockScreen(clock: WrongClock(error: -600), correctsClock: true)
        try await corrected.content()
        try expect(corrected.stock?.stock == punctual.stock?.stock, "the stock is another one")
        let codes = app.wire.exchanges.map { $0.code ?? 0 }
        try expect(codes == [200, 40_003, 40_002, 40_002, 200], "the codes were \(codes)")
    }

    private func stockScreen(clock: any APIClock = SystemClock(), correctsClock: Bool = false) -> StockScreen {
        let service = APIService.partner(at: app.baseURL, correctsClock: correctsClock)
        let screen = StockScreen(app, proxy: app.proxy(for: service, clock: clock))
        screen.appear()
        return screen
    }

    /// Sends the last request again, as an attacker would who has recorded it.
    private func expectRefusalOfCopy() async throws {
        guard let request = app.wire.exchanges.last?.request else { throw StepFailure("no request was sent") }
        _ = try await app.proxy().send(request)
        await app.wire.settle()
        try expect(app.wire.exchanges.last?.code == 40_003, "a copy of a request was accepted")
    }
}
