@testable import Errand

/// An object that calls a function when it is released, as an object of an app might.
nonisolated final class DeinitObserver: Encodable, ReloginHandler {
    private let question: @Sendable () -> Void

    init(_ question: @escaping @Sendable () -> Void) {
        self.question = question
    }

    deinit { question() }

    func relogin() async throws {}
    func encode(to encoder: any Encoder) throws {}
}
