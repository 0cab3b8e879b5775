import Synchronization

@testable import Errand

/// A sequence of answers, of which the last one is repeated.
final class Answers: Sendable {
    private let rest: Mutex<[HTTPResponse]>

    init(_ answers: [HTTPResponse]) {
        rest = Mutex(answers)
    }

    func next() -> HTTPResponse {
        rest.withLock { rest in
            rest.count > 1 ? rest.removeFirst() : rest.first ?? HTTPResponse(status: 500)
        }
    }
}
