import Errand

/// Ends the session on the server; one that has expired already is not renewed for that.
final class LogoutRequest: BaseAPIRequest, APIManager {
    typealias Response = Void
    let path = "/account/logout"
    let method = HTTPMethod.post

    override var isLoginRequest: Bool { true }
}
