import Foundation

extension Walk {
    private static let teapot = 1002

    /// Adds two teapots to the cart and removes them again, so that the state of the shop does not change.
    func fillCart() async throws {
        let screen = CartScreen(app)
        screen.appear()
        try await screen.content()
        let before = screen.count(of: Self.teapot)
        screen.add(2, of: Self.teapot)
        try await screen.content()
        try expect(screen.count(of: Self.teapot) == before + 2, "the two teapots are not in the cart")
        try expect(screen.cart?.hasRightTotal == true, "the cart's total is not the sum of its lines")
        screen.remove(2, of: Self.teapot)
        try await screen.content()
        try expect(screen.count(of: Self.teapot) == before, "the two teapots are still in the cart")
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
