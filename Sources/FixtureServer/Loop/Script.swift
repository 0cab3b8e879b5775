/// When the server starts to answer in one turn of a connection, and its answer.
package enum Script: Sendable {
    /// A function that answers a request.
    package typealias Handler = @Sendable (RecordedRequest) -> Answer
    /// A function that chooses the script of a turn; both numbers count from 1, and `nil` ends the connection with FIN.
    package typealias Plan = @Sendable (_ connection: Int, _ turn: Int) -> Script?

    /// Plays at once, without a request; what the client sends is not parsed.
    case onAccept(Answer)
    /// Answers when the request's head has arrived; the body is read and discarded after the answer.
    case onHead(Handler)
    /// Answers when the whole request has arrived.
    case onRequest(Handler)

    /// Plays these steps at once.
    package static func onAccept(_ steps: Answer.Step...) -> Script { .onAccept(Answer(steps: steps)) }

    /// Plays these steps when the request's head has arrived.
    package static func onHead(_ steps: Answer.Step...) -> Script {
        let answer = Answer(steps: steps)
        return .onHead { _ in answer }
    }

    /// Plays these steps when the whole request has arrived.
    package static func onRequest(_ steps: Answer.Step...) -> Script {
        let answer = Answer(steps: steps)
        return .onRequest { _ in answer }
    }
}
