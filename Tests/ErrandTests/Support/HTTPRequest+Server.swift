import Errand
import FixtureServer

extension HTTPRequest {
    /// Creates a request to a server of this process.
    init(
        _ method: HTTPMethod = .get,
        to server: FixtureServer,
        _ path: String = "/",
        headers: HTTPHeaders = [:],
        body: HTTPBody = .empty
    ) {
        self.init(method, server.url(path), headers: headers, body: body)
        deadline = .seconds(40)
    }
}
