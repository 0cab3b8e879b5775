extension Walk {
    /// Scrolls to the end of the orders; none may be missing, repeated or misplaced.
    func scrollThroughOrders() async throws {
        let screen = OrdersScreen(app)
        screen.appear()
        try await screen.content()
        let numbers = screen.orders.map(\.id)
        let expected = Array((202_600_001...202_600_137).reversed())
        try expect(numbers.count == 137, "137 orders were expected, \(numbers.count) received")
        try expect(numbers == expected, "the orders are not those that were expected, or not in their order")
        let pages = app.wire.exchanges.compactMap { $0.path.split(separator: "?").last }
        try expect(pages == (1...7).map { "page=\($0)&pageSize=20" }, "the pages were not requested one by one")
    }
}
