import Errand

/// Signs in; the answer's cookie goes to the jar by itself.
final class LoginRequest: BaseAPIRequest, APIManager {
    typealias Response = SignedIn
    let path = "/account/login"
    let method = HTTPMethod.post

    override var isLoginRequest: Bool { true }
}
