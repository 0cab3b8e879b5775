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

/// The invoice of an order as a file, whose download the customer pauses.
final class InvoiceFileScreen: Screen, APIManagerCallbackDelegate {
    static let size = 8 << 20
    private static let order = 202_600_136
    private static let bytesPerSecond = 16 << 20

    let file: URL
    private lazy var invoice = InvoiceFileRequest(to: file, delegate: self, proxy: app.proxy)
    private lazy var bar = ProgressBar(app.terminal, unit: "bytes")
    /// How much there is when the customer pauses.
    private var pause: Int64?

    private(set) var progress: [TransferProgress] = []

    init(_ app: App, file: URL) {
        self.file = file
        super.init(app)
    }

    func appear(pausingAfter bytes: Int64? = nil) {
        pause = bytes
        invoice.loadData(params: ["order": Self.order, "rate": Self.bytesPerSecond, "size": Self.size])
    }

    func tapContinue() {
        (pause, progress) = (nil, [])
        invoice.loadAgain()
    }

    func managerCallAPI(_ request: BaseAPIRequest, didMake progress: TransferProgress) {
        self.progress.append(progress)
        bar.show(progress)
        if let pause, progress.completedBytes >= pause { invoice.cancelAllRequests() }
    }

    func managerCallAPIDidCancel(_ request: BaseAPIRequest) { showCancelled() }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        bar.finish(progress.last)
        var table = Table(.right("Invoice of"), .left("File"), .right("Status"))
        table.add("\(Self.order)", invoice.response?.url.lastPathComponent ?? "", "\(request.rawResponse?.status ?? 0)")
        show(table)
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) { show(error) }
}

/// Where an order is, shown while its events arrive.
final class OrderWayScreen: Screen, APIManagerCallbackDelegate {
    private lazy var way = OrderWayRequest(delegate: self, proxy: app.proxy)

    var stations: [Int] { way.elements.map(\.number) }

    func appear(order: Int) { way.loadData(params: ["order": order]) }

    func managerCallAPIDidReceiveElements(_ request: BaseAPIRequest) {
        for station in way.newElements { app.terminal.write("   \(station.number): \(station.text.printable)") }
    }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) { show("The order has arrived.") }
    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) { show(error) }
}
