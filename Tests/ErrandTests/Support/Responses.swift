import Synchronization

@testable import Errand

/// A sequence of responses, of which the last one is repeated.
final class Responses: Sendable {
    private let rest: Mutex<[HTTPResponse]>

    init(_ responses: [HTTPResponse]) {
        rest = Mutex(responses)
    }

    func next() -> HTTPResponse {
        rest.withLock { rest in
            rest.count > 1 ? rest.removeFirst() : rest.first ?? HTTPResponse(status: 500)
        }
    }
}
