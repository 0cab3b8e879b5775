import ErrandTesting
import Foundation

@testable import Errand

extension ScriptedTransport {
    /// Creates a transport that responds to every request with one function and records the requests.
    convenience init(
        capacity: TransportCapacity = .unlimited,
        _ response: @escaping Script = { _ in .json(#"{"errcode":200,"msg":"ok","data":[]}"#) }
    ) {
        self.init(capacity: capacity, fallback: response)
    }
}

/// A sequence of responses, of which the last one is repeated.
final class Responses: Sendable {
    private let rest: Lock<[HTTPResponse]>

    init(_ responses: [HTTPResponse]) {
        rest = Lock(responses)
    }

    func next() -> HTTPResponse {
        rest.withLock { rest in
            rest.count > 1 ? rest.removeFirst() : rest.first ?? HTTPResponse(status: 500)
        }
    }
}
