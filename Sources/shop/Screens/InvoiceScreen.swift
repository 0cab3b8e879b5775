import Errand
import Foundation

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
