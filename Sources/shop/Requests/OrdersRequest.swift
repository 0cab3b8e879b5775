import Errand

/// The orders, 20 a page.
final class OrdersRequest: PageAPIRequest<OrderPage>, APIManager {
    let path = "/orders"
    let method = HTTPMethod.get
    // Whoever scrolls sees at once that a page is missing, and asks for it with a tap.
    override var retryPolicy: RetryPolicy? { .never }
}
