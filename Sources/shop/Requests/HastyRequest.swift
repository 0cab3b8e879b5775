import Errand

/// The same slow answer, for which nobody waits longer than a moment.
final class HastyRequest: BaseAPIRequest, APIManager {
    typealias Response = Void
    let path = "/slow"
    let method = HTTPMethod.get

    override var timeout: Duration? { .milliseconds(300) }
}
