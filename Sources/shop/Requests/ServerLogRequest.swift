import Errand

/// Loads the server's log.
final class ServerLogRequest: BaseAPIRequest, APIManager {
    typealias Response = ServerLog
    let path = "/debug/log"
    let method = HTTPMethod.get
}
