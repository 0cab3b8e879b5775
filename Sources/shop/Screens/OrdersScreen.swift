import Errand

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
