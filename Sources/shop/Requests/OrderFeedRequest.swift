import Errand

/// The newest orders.
final class OrderFeedRequest: BaseAPIRequest, APIManager {
    typealias Response = OrderFeed
    let path = "/orders/feed"
    let method = HTTPMethod.get
}
