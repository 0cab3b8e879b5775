import Errand

/// Ends the session on the server; an expired session is not renewed first.
final class LogoutRequest: BaseAPIRequest, APIManager {
    typealias Response = Void
    let path = "/account/logout"
    let method = HTTPMethod.post

    override var isLoginRequest: Bool { true }
}
