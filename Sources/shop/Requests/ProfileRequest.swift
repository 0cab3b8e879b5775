import Errand

/// Asks who is signed in.
final class ProfileRequest: BaseAPIRequest, APIManager {
    typealias Response = Profile
    let path = "/account/me"
    let method = HTTPMethod.get
}
