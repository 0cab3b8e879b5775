import Foundation
import Synchronization

@testable import Errand

/// A transport that is a function; it keeps what it was asked to send.
final class ClosureTransport: HTTPTransport {
    typealias Answer = @Sendable (HTTPRequest) async throws(TransportError) -> HTTPResponse

    private let answer: Answer
    private let sent = Mutex<[HTTPRequest]>([])

    init(_ answer: @escaping Answer = { _ in .json(#"{"errcode":200,"msg":"ok","data":[]}"#) }) {
        self.answer = answer
    }

    /// Everything that was sent, in its order, but for the loads of `sentinel`.
    var requests: [HTTPRequest] { sent.withLock { $0 }.filter { $0.url.lastPathComponent != "sentinel" } }

    func send(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler?
    ) async throws(TransportError) -> HTTPResponse {
        sent.withLock { $0.append(request) }
        return try await answer(request)
    }
}

extension HTTPResponse {
    static func json(_ text: String, status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, headers: ["Content-Type": "application/json"], body: Data(text.utf8))
    }
}
