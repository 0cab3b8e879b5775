import Errand

/// The stock of an article, on a device of a partner.
final class StockScreen: Screen, APIManagerParamSource, APIManagerCallbackDelegate {
    private let proxy: APIProxy
    private lazy var request = StockRequest(delegate: self, paramSource: self, proxy: proxy)

    var stock: Stock? { request.response }

    /// Creates the screen of a device, whose proxy signs its requests.
    init(_ app: App, proxy: APIProxy) {
        self.proxy = proxy
        super.init(app)
    }

    func appear() { request.loadData() }

    func params(for request: BaseAPIRequest) -> APIParams? { ["goodsID": 1002] }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        var table = Table(.right("No."), .right("Stock"))
        if let stock { table.add("\(stock.goodsID)", "\(stock.stock)") }
        show(table)
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) { show(error) }
}
