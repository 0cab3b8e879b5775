import Errand

/// Loads the slow response with a timeout of 0.3 seconds.
final class HastyRequest: BaseAPIRequest, APIManager {
    typealias Response = Void
    let path = "/slow"
    let method = HTTPMethod.get

    override var timeout: Duration? { .milliseconds(300) }
}
