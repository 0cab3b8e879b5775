import Foundation

extension Walk {
    /// Lists the goods of a category; their Chinese names must arrive unchanged.
    func listGoods() async throws {
        let screen = GoodsScreen(app)
        screen.appear()
        try await screen.content()
        let names = screen.goods.map(\.name)
        try expect(names.count == 10, "10 goods were expected, \(names.count) came")
        for name in ["龙井茶叶 明前特级 250g", "景德镇青花瓷盖碗", "便携旅行茶具套装 “一壶二杯”"] {
            try expect(names.contains(name), "\(name) is not among the goods")
        }
    }

    /// Starts the app again in a new process, without a network: it shows the goods that were stored, and their age.
    func listGoodsOffline() async throws {
        let start = try await debugging.log()
        let status = try await SecondStart.run(["offline"] + childOptions)
        try expect(status == 0, "the new process ended with status \(status)")
        let log = try await debugging.log().since(start)
        try expect(log.hits.isEmpty, "the process without a network has reached the server")
    }

    /// Adds two teapots to the cart and removes them again, so that the state of the shop does not change.
    func fillCart() async throws {
        let teapot = 1002
        let screen = CartScreen(app)
        screen.appear()
        try await screen.content()
        let before = screen.count(of: teapot)
        screen.add(2, of: teapot)
        try await screen.content()
        try expect(screen.count(of: teapot) == before + 2, "the two teapots are not in the cart")
        try expect(screen.cart?.hasRightTotal == true, "the cart's total is not the sum of its lines")
        screen.remove(2, of: teapot)
        try await screen.content()
        try expect(screen.count(of: teapot) == before, "the two teapots are still in the cart")
    }
}

extension CartScreen {
    fileprivate func count(of goodsID: Int) -> Int {
        cart?.items.first { $0.goodsID == goodsID }?.count ?? 0
    }
}

extension Cart {
    fileprivate var hasRightTotal: Bool {
        let sum = items.reduce(Decimal(0)) { $0 + (Decimal(string: $1.price) ?? .nan) * Decimal($1.count) }
        return Decimal(string: total) == sum
    }
}
