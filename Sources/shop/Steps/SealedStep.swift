import Errand
import Foundation

extension Walk {
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
        show(log)
        try expect(log.keyRefusals == 10, "\(log.keyRefusals) payments were refused, not 10")
        try expect(log.keyExchanges == 1, "there were \(log.keyExchanges) exchanges of a key, not 1")
        try expect(log.hits["/wallet/pay"] == 20, "not every payment was sent twice")
        try expect(screen.receipts.map(\.order) == Array(202_600_001...202_600_010), "the receipts are of other orders")
        try expectNothingInTheClear(of: screen.receipts)
    }

    private func show(_ log: ServerLog) {
        var table = Table(.left("On the server"), .right("Count"))
        table.add("refused", "\(log.keyRefusals)")
        table.add("exchanges", "\(log.keyExchanges)")
        table.add("replays", "\(log.hits["/wallet/pay", default: 0] - 10)")
        app.terminal.write(table)
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
