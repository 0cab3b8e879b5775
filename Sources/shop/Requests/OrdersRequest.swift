import Errand

/// Lists the orders, 20 on a page.
final class OrdersRequest: PageAPIRequest<OrderPage>, APIManager {
    let path = "/orders"
    let method = HTTPMethod.get
    // The screen shows a failure at once, and the user loads the page again with a tap.
    override var options: APIRequestOptions { APIRequestOptions(retryPolicy: .never) }
}
