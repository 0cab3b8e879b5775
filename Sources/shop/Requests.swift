import Errand
import Foundation

/// Signs in; the proxy stores the cookie of the response in its jar.
final class LoginRequest: BaseAPIRequest, APIManager {
    typealias Response = SignedIn
    let path = "/account/login"
    let method = HTTPMethod.post

    override var isLoginRequest: Bool { true }
}

/// Ends the session on the server; an expired session is not renewed first.
final class LogoutRequest: BaseAPIRequest, APIManager {
    typealias Response = Void
    let path = "/account/logout"
    let method = HTTPMethod.post

    override var isLoginRequest: Bool { true }
}

/// Loads the profile of the signed-in customer.
final class ProfileRequest: BaseAPIRequest, APIManager {
    typealias Response = Profile
    let path = "/account/me"
    let method = HTTPMethod.get
}

/// Uploads a picture, which the screen adds as a part of the form.
final class AvatarRequest: BaseAPIRequest, APIManager {
    typealias Response = StoredPicture
    let path = "/account/avatar"
    let method = HTTPMethod.post

    override var requestSerializer: RequestSerializer { .multipart }
    override var options: APIRequestOptions { APIRequestOptions(reportsProgress: true) }
}

/// Loads the goods of a category.
final class GoodsListRequest: BaseAPIRequest, APIManager {
    typealias Response = [Goods]
    let path = "/mall/shopList"
    let method = HTTPMethod.post

    override var options: APIRequestOptions { APIRequestOptions(cachePolicy: .fallback) }
}

/// Loads the contents of the cart.
final class CartRequest: BaseAPIRequest, APIManager {
    typealias Response = Cart
    let path = "/cart"
    let method = HTTPMethod.get
}

/// Puts goods into the cart.
final class AddToCartRequest: BaseAPIRequest, APIManager {
    typealias Response = Cart
    let path = "/cart/add"
    let method = HTTPMethod.post
}

/// Removes goods from the cart.
final class RemoveFromCartRequest: BaseAPIRequest, APIManager {
    typealias Response = Cart
    let path = "/cart/remove"
    let method = HTTPMethod.post
}

/// Lists the orders, 20 on a page.
final class OrdersRequest: PageAPIRequest<OrderPage>, APIManager {
    let path = "/orders"
    let method = HTTPMethod.get
    // The screen shows a failure at once, and the user loads the page again with a tap.
    override var options: APIRequestOptions { APIRequestOptions(retryPolicy: .never) }
}

/// Loads the newest orders.
final class OrderFeedRequest: BaseAPIRequest, APIManager {
    typealias Response = OrderFeed
    let path = "/orders/feed"
    let method = HTTPMethod.get
}

/// Loads a page of the orders as a plain array.
final class OrderArchiveRequest: BaseAPIRequest, APIManager {
    typealias Response = [Order]
    let path = "/orders/linked"
    let method = HTTPMethod.get
}

/// Lists all orders by page number; an order that moves to another page is shown once.
final class OrdersByNumberRequest: PageAPIRequest<PageModel<Order>>, APIManager {
    let path = "/orders"
    let method = HTTPMethod.get
    override var strategy: any PageStrategy { .pageNumber(size: 50) }
    override var itemID: ItemID<Order>? { ItemID(\.id) }
}

/// Lists all orders by offset.
final class OrdersByOffsetRequest: PageAPIRequest<PageModel<Order>>, APIManager {
    let path = "/orders"
    let method = HTTPMethod.get
    override var strategy: any PageStrategy { .offset(limit: 50) }
    override var itemID: ItemID<Order>? { ItemID(\.id) }
}

/// Lists all orders by the cursor of each page.
final class OrdersByCursorRequest: PageAPIRequest<OrderFeed>, APIManager {
    let path = "/orders/feed"
    let method = HTTPMethod.get
    override var strategy: any PageStrategy { .cursor(sizeKey: "limit", size: 50) }
    override var itemID: ItemID<Order>? { ItemID(\.id) }
}

/// Lists all orders by the links in the headers.
final class OrdersByLinkRequest: PageAPIRequest<[Order]>, APIManager {
    let path = "/orders/linked"
    let method = HTTPMethod.get
    override var strategy: any PageStrategy { .link(sizeKey: "per_page", size: 50) }
    override var itemID: ItemID<Order>? { ItemID(\.id) }
}

/// Downloads the invoice of an order, a PDF file.
final class InvoiceRequest: BaseAPIRequest, APIManager {
    typealias Response = Data
    let path = "/invoices/{order}.pdf"
    let method = HTTPMethod.get

    override var options: APIRequestOptions { APIRequestOptions(reportsProgress: true) }
}

/// Downloads the invoice of an order to a file, and continues where an earlier download has stopped.
final class InvoiceFileRequest: BaseAPIRequest, APIManager {
    typealias Response = DownloadedFile
    let path = "/invoices/{order}.pdf"
    let method = HTTPMethod.get
    private let file: URL

    init(to file: URL, delegate: any APIManagerCallbackDelegate, proxy: APIProxy) {
        self.file = file
        super.init(delegate: delegate, proxy: proxy)
    }

    override var options: APIRequestOptions { APIRequestOptions(reportsProgress: true, resumesDownload: true) }
    override var destination: HTTPRequest.Destination { .file(file) }
}

/// Receives where an order is, as events.
final class OrderWayRequest: StreamAPIRequest<Station>, APIManager {
    let path = "/orders/{order}/way"
    let method = HTTPMethod.get
    override var strategy: StreamStrategy<Station>? { .jsonEvents(named: ["station"]) }
}

/// Asks the shop's assistant, whose response arrives in parts.
final class AssistantRequest: StreamAPIRequest<String>, APIManager {
    let path = "/assistant"
    let method = HTTPMethod.post
    override var strategy: StreamStrategy<String>? { .events { event, _ in event.data } }
}

/// Loads the stock of an article from the partners' service, which accepts only signed requests.
final class StockRequest: BaseAPIRequest, APIManager {
    typealias Response = Stock
    let path = "/partner/stock"
    let method = HTTPMethod.get
}

/// Exchanges a session key.
final class WalletKeyRequest: BaseAPIRequest, APIManager {
    typealias Response = WalletKey
    let path = "/wallet/keys"
    let method = HTTPMethod.post
}

/// Pays an order.
final class PaymentRequest: BaseAPIRequest, APIManager {
    typealias Response = Receipt
    let path = "/wallet/pay"
    let method = HTTPMethod.post
}

/// A request that fails with HTTP 500.
final class BrokenRequest: BaseAPIRequest, APIManager {
    typealias Response = Void
    let path = "/broken"
    let method = HTTPMethod.get
}

/// A request that the shop refuses: HTTP 200 with a business code.
final class StocktakingRequest: BaseAPIRequest, APIManager {
    typealias Response = Void
    let path = "/broken-business"
    let method = HTTPMethod.get
}

/// Loads a response that the server delays by the time in the parameters.
final class SlowRequest: BaseAPIRequest, APIManager {
    typealias Response = Void
    let path = "/slow"
    let method = HTTPMethod.get
}

/// Loads the slow response with a timeout of 0.3 seconds.
final class HastyRequest: BaseAPIRequest, APIManager {
    typealias Response = Void
    let path = "/slow"
    let method = HTTPMethod.get

    override var timeout: Duration? { .milliseconds(300) }
}
