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
}
