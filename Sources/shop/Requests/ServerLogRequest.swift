import Errand

/// What the server was asked for so far.
final class ServerLogRequest: BaseAPIRequest, APIManager {
    typealias Response = ServerLog
    let path = "/debug/log"
    let method = HTTPMethod.get
}
