import Errand
import FixtureServer
import Foundation

struct Goods: Decodable { let id: Int, name: String }
struct Order: Decodable { let id: Int, title: String, amount: String }

final class GoodsListRequest: BaseAPIRequest, APIManager {
    typealias Response = [Goods]
    let path = "/mall/shopList"
    let method = HTTPMethod.post
}

final class OrdersRequest: PageAPIRequest<PageModel<Order>>, APIManager {
    let path = "/orders"
    let method = HTTPMethod.get
    override var strategy: any PageStrategy { .pageNumber(size: 50) }
}

/// Signs in when the server refuses the orders; the jar of the service keeps the cookie of the login.
final class Account: ReloginHandler {
    func relogin() async throws {
        let params: APIParams = ["account": "lin", "password": "errand-1"]
        try await APIRequest<Void>("/account/login", method: .post, params: params).value()
    }
}

/// Prints the goods of a category, and then all orders page by page.
@MainActor final class GoodsScreen: APIManagerParamSource, APIManagerCallbackDelegate {
    private lazy var goodsList = GoodsListRequest(delegate: self, paramSource: self)
    private lazy var orders = OrdersRequest(delegate: self)
    private(set) var error: APIError?

    func appear() async {
        goodsList.loadData()
        await goodsList.waitUntilIdle()
        orders.reload()
        await orders.waitUntilIdle()  // also for the pages that the delegate loads
    }

    func params(for request: BaseAPIRequest) -> APIParams? { ["category": 7] }
    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) { self.error = error }
    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        guard request == orders else {
            for goods in goodsList.response ?? [] { print(goods.id, goods.name) }
            return
        }
        print("page \(orders.pageCount): \(orders.items.count) of \(orders.totalCount ?? 0) orders")
        for order in orders.items[orders.insertedRows] { print(order.id, order.title, order.amount) }
        if orders.hasMore { orders.loadNextPage() }
    }
}

@main struct Program {
    @MainActor static func main() async throws {
        setenv("no_proxy", "127.0.0.1", 1)  // for an environment with a proxy server
        let server = try FixtureServer.startShop()
        var service = APIService(baseURL: server.baseURL)
        service.cookies = CookieJar()
        service.reloginHandler = Account()
        APIProxy.shared.defaultService = service
        let screen = GoodsScreen()
        await screen.appear()
        server.stop()
        guard let error = screen.error else { return }
        try FileHandle.standardError.write(contentsOf: Data("goods: \(error)\n".utf8))
        exit(EXIT_FAILURE)
    }
}
