import Errand

/// A server that fails: HTTP 500.
final class BrokenRequest: BaseAPIRequest, APIManager {
    typealias Response = Void
    let path = "/broken"
    let method = HTTPMethod.get
}
