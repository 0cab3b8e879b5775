/// When the server starts to respond in one turn of a connection, and its response.
package enum Script: Sendable {
    /// A function that responds to a request.
    package typealias Handler = @Sendable (RecordedRequest) -> Response
    /// A function that chooses the script of a turn; both numbers count from 1, and `nil` ends the connection with FIN.
    package typealias Plan = @Sendable (_ connection: Int, _ turn: Int) -> Script?

    /// Plays at once, without a request; what the client sends is not parsed.
    case onAccept(Response)
    /// Responds when the request's head has arrived; the body is read and discarded after the response.
    case onHead(Handler)
    /// Responds when the whole request has arrived.
    case onRequest(Handler)

    /// Plays these steps at once.
    package static func onAccept(_ steps: Response.Step...) -> Script { .onAccept(Response(steps: steps)) }

    /// Plays these steps when the request's head has arrived.
    package static func onHead(_ steps: Response.Step...) -> Script {
        let response = Response(steps: steps)
        return .onHead { _ in response }
    }

    /// Plays these steps when the whole request has arrived.
    package static func onRequest(_ steps: Response.Step...) -> Script {
        let response = Response(steps: steps)
        return .onRequest { _ in response }
    }
}
