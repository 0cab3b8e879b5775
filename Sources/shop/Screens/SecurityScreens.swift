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

/// The screen on which the customer pays orders, all at once.
final class WalletScreen: Screen, APIManagerCallbackDelegate {
    private let proxy: APIProxy
    private var payments: [PaymentRequest] = []
    private var missing = 0

    /// The receipts of the last payments.
    var receipts: [Receipt] { payments.compactMap(\.response) }

    /// Creates the screen; the requests of `proxy` are sealed.
    init(_ app: App, proxy: APIProxy) {
        self.proxy = proxy
        super.init(app)
    }

    func pay(_ orders: ClosedRange<Int>) {
        missing = orders.count
        payments = orders.map { _ in PaymentRequest(delegate: self, proxy: proxy) }
        for (payment, order) in zip(payments, orders) { payment.loadData(params: ["order": order]) }
    }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        missing -= 1
        guard missing == 0 else { return }
        var table = Table(.right("Order"), .right("Amount"), .left("Receipt"))
        for receipt in receipts { table.add("\(receipt.order)", receipt.amount, receipt.receipt) }
        show(table)
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) { show(error) }
}
