import Errand

/// The goods of one category.
final class GoodsScreen: Screen, APIManagerParamSource, APIManagerCallbackDelegate {
    private lazy var goodsList = GoodsListRequest(delegate: self, paramSource: self, proxy: app.proxy)

    var goods: [Goods] { goodsList.response ?? [] }

    func appear() { goodsList.loadData() }

    func params(for request: BaseAPIRequest) -> APIParams? { ["category": 7] }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        var table = Table(.right("No."), .left("Goods"), .right("Price"), .right("Stock"))
        for goods in goods { table.add("\(goods.id)", goods.name, goods.price, "\(goods.stock)") }
        show(table)
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) { show(error) }
}
