import Errand

/// Loads a page of the orders as a plain array.
final class OrderArchiveRequest: BaseAPIRequest, APIManager {
    typealias Response = [Order]
    let path = "/orders/linked"
    let method = HTTPMethod.get
}
