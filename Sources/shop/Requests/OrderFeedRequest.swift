import Errand

/// Loads the newest orders.
final class OrderFeedRequest: BaseAPIRequest, APIManager {
    typealias Response = OrderFeed
    let path = "/orders/feed"
    let method = HTTPMethod.get
}
