/// What the server does in one turn of one connection: when it starts to answer, and how.
package enum Script: Sendable {
    /// Makes an answer to a request.
    package typealias Handler = @Sendable (RecordedRequest) -> Answer
    /// Chooses the script of a turn; both numbers count from 1, and `nil` ends the connection with FIN.
    package typealias Plan = @Sendable (_ connection: Int, _ turn: Int) -> Script?

    /// Plays at once, whatever the client sends; what it sends is left for the next turn.
    case onAccept(Answer)
    /// Answers when the request's head is there; the body is read, and dropped, behind the answer.
    case onHead(Handler)
    /// Answers when the whole request is there.
    case onRequest(Handler)

    /// Plays these steps at once.
    package static func onAccept(_ steps: Answer.Step...) -> Script { .onAccept(Answer(steps: steps)) }

    /// Plays these steps when the request's head is there.
    package static func onHead(_ steps: Answer.Step...) -> Script {
        let answer = Answer(steps: steps)
        return .onHead { _ in answer }
    }

    /// Plays these steps when the whole request is there.
    package static func onRequest(_ steps: Answer.Step...) -> Script {
        let answer = Answer(steps: steps)
        return .onRequest { _ in answer }
    }
}
