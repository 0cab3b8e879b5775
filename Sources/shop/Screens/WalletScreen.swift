import Errand

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
