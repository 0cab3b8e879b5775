import Errand

/// The first screen of the app: five parts, all loaded at once.
final class HomeScreen: Screen, APIManagerParamSource, APIManagerCallbackDelegate {
    private lazy var profile = ProfileRequest(delegate: self, paramSource: self, proxy: app.proxy)
    private lazy var cart = CartRequest(delegate: self, paramSource: self, proxy: app.proxy)
    private lazy var orders = OrdersRequest(delegate: self, paramSource: self, proxy: app.proxy)
    private lazy var feed = OrderFeedRequest(delegate: self, paramSource: self, proxy: app.proxy)
    private lazy var archive = OrderArchiveRequest(delegate: self, paramSource: self, proxy: app.proxy)

    private var parts: [any APIManager] { [profile, cart, orders, feed, archive] }
    private var missing = 0

    var paths: [String] { parts.map(\.path) }

    func appear() {
        missing = parts.count
        for part in parts { part.loadData() }
    }

    func params(for request: BaseAPIRequest) -> APIParams? {
        if request === feed { return ["limit": 3] }
        if request === archive { return ["per_page": 5] }
        return nil
    }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        missing -= 1
        guard missing == 0 else { return }
        var table = Table(.left("Part"), .left("Shows"))
        table.add("Profile", profile.response?.nickname ?? "")
        table.add("Cart", cart.response.map { "\($0.count) in it" } ?? "")
        table.add("Orders", "\(orders.items.count) of \(orders.totalCount ?? 0)")
        table.add("Feed", feed.response?.list.first?.title ?? "")
        table.add("Archive", archive.response?.last?.title ?? "")
        show(table)
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) { show(error) }
}

/// The goods of one category.
final class GoodsScreen: Screen, APIManagerParamSource, APIManagerCallbackDelegate {
    private lazy var goodsList = GoodsListRequest(delegate: self, paramSource: self, proxy: app.proxy)

    var goods: [Goods] { goodsList.response ?? [] }
    /// How old the goods are that were stored; `nil` for those of the network.
    var age: Duration? { goodsList.rawResponse?.age }

    func appear() { goodsList.loadData() }

    func params(for request: BaseAPIRequest) -> APIParams? { ["category": 7] }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        var table = Table(.right("No."), .left("Goods"), .right("Price"), .right("Stock"))
        for goods in goods { table.add("\(goods.id)", goods.name, goods.price, "\(goods.stock)") }
        if let age { app.terminal.write("   Without a network: stored \(age.components.seconds) s ago") }
        show(table)
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) { show(error) }
}

/// The cart, to which the customer adds goods and from which they remove them.
final class CartScreen: Screen, APIManagerParamSource, APIManagerCallbackDelegate {
    private lazy var contents = CartRequest(delegate: self, paramSource: self, proxy: app.proxy)
    private lazy var addition = AddToCartRequest(delegate: self, paramSource: self, proxy: app.proxy)
    private lazy var removal = RemoveFromCartRequest(delegate: self, paramSource: self, proxy: app.proxy)
    private var change: APIParams?

    private(set) var cart: Cart?

    func appear() { contents.loadData() }

    func add(_ count: Int, of goodsID: Int) {
        change = ["goodsID": goodsID, "count": count]
        addition.loadData()
    }

    func remove(_ count: Int, of goodsID: Int) {
        change = ["goodsID": goodsID, "count": count]
        removal.loadData()
    }

    func params(for request: BaseAPIRequest) -> APIParams? { request === contents ? nil : change }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        if request === contents { cart = contents.response }
        if request === addition { cart = addition.response }
        if request === removal { cart = removal.response }
        show(table)
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) { show(error) }

    private var table: Table {
        var table = Table(.right("No."), .left("In the cart"), .right("Count"), .right("Price"))
        for line in cart?.items ?? [] { table.add("\(line.goodsID)", line.name, "\(line.count)", line.price) }
        if let cart { table.add("", "Total", "\(cart.count)", cart.total) }
        return table
    }
}
