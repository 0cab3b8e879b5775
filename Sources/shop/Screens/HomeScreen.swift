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
