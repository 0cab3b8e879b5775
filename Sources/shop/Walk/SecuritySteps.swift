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

    /// Pays ten orders at once with a key that has expired, which must cause one exchange and ten replays.
    func sealPayments() async throws {
        let keys = WalletKeys(proxy: app.proxy)
        let proxy = app.proxy(for: .wallet(at: app.baseURL, keys: keys))
        let screen = WalletScreen(app, proxy: proxy)
        screen.pay(202_600_001...202_600_001)
        try await screen.content()
        guard let id = keys.latestID else { throw StepFailure("no key was exchanged") }
        try await debugging.expireKey(id: id)
        let start = try await debugging.log()
        // All must be sent with the expired key; one that is sent later would wait for the new key, and need no replay.
        app.transport.expect(10)
        screen.pay(202_600_001...202_600_010)
        try await screen.content()
        let log = try await debugging.log().since(start)
        let replays = log.hits["/wallet/pay", default: 0] - 10
        show(["refused": log.keyRefusals, "exchanges": log.keyExchanges, "replays": replays])
        try expect(log.keyRefusals == 10, "\(log.keyRefusals) payments were refused, not 10")
        try expect(log.keyExchanges == 1, "there were \(log.keyExchanges) exchanges of a key, not 1")
        try expect(log.hits["/wallet/pay"] == 20, "not every payment was sent twice")
        try expect(screen.receipts.map(\.order) == Array(202_600_001...202_600_010), "the receipts are of other orders")
        try expectNothingInTheClear(of: screen.receipts)
    }

    /// Checks that no request and no response on the wire contains a part of a receipt.
    private func expectNothingInTheClear(of receipts: [Receipt]) throws {
        let bodies = app.wire.exchanges.flatMap(\.bodies)
        let texts = receipts.flatMap { ["\($0.order)", $0.receipt] }
        let isClear = bodies.contains { body in texts.contains { body.range(of: Data($0.utf8)) != nil } }
        try expect(!isClear, "a payment was readable on the wire")
    }
}

extension Exchange {
    /// The bytes of the request's body and of the response's.
    fileprivate var bodies: [Data] {
        let sent = request.body.pieces.map { piece in
            guard case .data(let data) = piece else { return Data() }
            return data
        }
        return sent + [body ?? Data()]
    }
}
