import Errand
import ErrandTesting
import FixtureServer

/// How a server reports an expired login.
enum LoginExpiryFormat: CaseIterable, Sendable {
    case status, code

    private static let envelope = #"{"errcode":11010,"msg":"expired"}"#

    /// The response of a scripted transport.
    var response: HTTPResponse {
        switch self {
        case .status: .json("{}", status: 401)
        case .code: .json(Self.envelope)
        }
    }

    /// The response of a fixture server.
    var served: Response {
        switch self {
        case .status: .status(401)
        case .code: .json(bytes: Self.envelope.utf8)
        }
    }
}
