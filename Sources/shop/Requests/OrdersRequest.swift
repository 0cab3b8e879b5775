import Errand

/// The orders, 20 a page.
final class OrdersRequest: PageAPIRequest<OrderPage>, APIManager {
    let path = "/orders"
    let method = HTTPMethod.get
    // The user is shown a failed page at once, and loads it again with a tap.
    override var retryPolicy: RetryPolicy? { .never }
}
