import Errand

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
