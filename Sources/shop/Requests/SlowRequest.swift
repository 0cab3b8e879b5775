import Errand

/// Loads a response that the server delays by the time in the parameters.
final class SlowRequest: BaseAPIRequest, APIManager {
    typealias Response = Void
    let path = "/slow"
    let method = HTTPMethod.get
}
