import Errand

/// Loads the profile of the signed-in customer.
final class ProfileRequest: BaseAPIRequest, APIManager {
    typealias Response = Profile
    let path = "/account/me"
    let method = HTTPMethod.get
}
