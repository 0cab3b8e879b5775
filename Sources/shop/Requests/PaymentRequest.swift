import Errand

/// Pays an order.
final class PaymentRequest: BaseAPIRequest, APIManager {
    typealias Response = Receipt
    let path = "/wallet/pay"
    let method = HTTPMethod.post
}
