import Errand

/// Loads the stock of an article from the partners' service, which accepts only signed requests.
final class StockRequest: BaseAPIRequest, APIManager {
    typealias Response = Stock
    let path = "/partner/stock"
    let method = HTTPMethod.get
}
