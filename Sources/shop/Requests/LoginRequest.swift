import Errand

/// Signs in; the proxy stores the cookie of the response in its jar.
final class LoginRequest: BaseAPIRequest, APIManager {
    typealias Response = SignedIn
    let path = "/account/login"
    let method = HTTPMethod.post

    override var isLoginRequest: Bool { true }
}
