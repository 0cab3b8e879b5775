import Errand

/// Loads the contents of the cart.
final class CartRequest: BaseAPIRequest, APIManager {
    typealias Response = Cart
    let path = "/cart"
    let method = HTTPMethod.get
}
