import Errand

/// An answer that takes as long as the parameters say.
final class SlowRequest: BaseAPIRequest, APIManager {
    typealias Response = Void
    let path = "/slow"
    let method = HTTPMethod.get
}
