import Errand

/// The orders, 20 a page.
final class OrdersRequest: PageAPIRequest<OrderPage>, APIManager {
    let path = "/orders"
    let method = HTTPMethod.get
}
