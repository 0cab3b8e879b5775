import Errand
import Foundation

/// All orders, loaded page by page as the customer scrolls down.
final class OrdersScreen: Screen, APIManagerParamSource, APIManagerCallbackDelegate {
    private lazy var list = OrdersRequest(delegate: self, paramSource: self, proxy: app.proxy)
    private lazy var bar = ProgressBar(app.terminal, unit: "orders")

    var orders: [Order] { list.items }

    func appear() { list.reload() }

    /// Loads a failed page again, as the customer does with a tap.
    func tapRetry() { list.retry() }

    // The list's strategy adds the number and the size of the page.
    func params(for request: BaseAPIRequest) -> APIParams? { nil }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        bar.show(orders.count, of: list.totalCount ?? 0)
        guard list.loadNextPage() == nil else { return }
        bar.finish(orders.count, of: list.totalCount ?? 0)
        show(table)
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) { show(error) }

    private var table: Table {
        var table = Table(.right("Order"), .left("Goods"), .right("Count"), .right("Amount"), .left("Status"))
        for order in orders.prefix(3) { table.add(order) }
        table.add("...", "...", "...", "...", "...")
        for order in orders.suffix(2) { table.add(order) }
        return table
    }
}

extension Table {
    fileprivate mutating func add(_ order: Order) {
        add("\(order.id)", order.title, "\(order.count)", order.amount, order.status)
    }
}

/// The invoice of an order.
final class InvoiceScreen: Screen, APIManagerParamSource, APIManagerCallbackDelegate {
    /// Slow enough for several reports of progress.
    private static let bytesPerSecond = 2 << 20

    private lazy var invoice = InvoiceRequest(delegate: self, paramSource: self, proxy: app.proxy)
    private lazy var bar = ProgressBar(app.terminal, unit: "bytes")
    private let order: Int

    private(set) var progress: [TransferProgress] = []
    var file: Data? { invoice.response }

    init(_ app: App, order: Int) {
        self.order = order
        super.init(app)
    }

    func appear() { invoice.loadData() }

    func params(for request: BaseAPIRequest) -> APIParams? { ["order": order, "rate": Self.bytesPerSecond] }

    func managerCallAPI(_ request: BaseAPIRequest, didMake progress: TransferProgress) {
        self.progress.append(progress)
        bar.show(progress)
    }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        bar.finish(progress.last)
        var table = Table(.right("Invoice of"), .left("Type"), .right("Bytes"))
        table.add("\(order)", request.rawResponse?.headers["Content-Type"] ?? "", "\(file?.count ?? 0)")
        show(table)
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) { show(error) }
}
