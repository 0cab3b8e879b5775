import Errand

/// Puts goods into the cart.
final class AddToCartRequest: BaseAPIRequest, APIManager {
    typealias Response = Cart
    let path = "/cart/add"
    let method = HTTPMethod.post
}
