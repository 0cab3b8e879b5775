import Errand

/// A request that fails with HTTP 500.
final class BrokenRequest: BaseAPIRequest, APIManager {
    typealias Response = Void
    let path = "/broken"
    let method = HTTPMethod.get
}
