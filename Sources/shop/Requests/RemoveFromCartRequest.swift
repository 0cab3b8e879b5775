import Errand

/// Removes goods from the cart.
final class RemoveFromCartRequest: BaseAPIRequest, APIManager {
    typealias Response = Cart
    let path = "/cart/remove"
    let method = HTTPMethod.post
}
