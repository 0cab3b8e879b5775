import Errand
import ErrandTesting
import FixtureServer

/// How a server says that a login has expired.
enum Refusal: CaseIterable, Sendable {
    case status, code

    private static let envelope = #"{"errcode":11010,"msg":"expired"}"#

    /// In a scripted network.
    var response: HTTPResponse {
        switch self {
        case .status: .json("{}", status: 401)
        case .code: .json(Self.envelope)
        }
    }

    /// Over a socket.
    var answer: Answer {
        switch self {
        case .status: .status(401)
        case .code: .json(bytes: Self.envelope.utf8)
        }
    }
}
