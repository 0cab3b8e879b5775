import Synchronization

@testable import Errand

/// Answers to give one after the other; the last one again and again.
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
