import Errand
import ErrandTesting
import Foundation

/// A flag that is taken once.
final class Flag: @unchecked Sendable {
    private let lock = NSLock()
    private var (flag, taken) = (false, false)

    var isSet: Bool { lock.withLock { flag } }
    var isTaken: Bool { lock.withLock { taken } }

    func set() { lock.withLock { flag = true } }

    @discardableResult
    func take() -> Bool {
        lock.withLock {
            defer { (flag, taken) = (false, true) }
            return !taken
        }
    }
}

/// Sends requests below `/open` with the second transport.
struct RoutedTransport: HTTPTransport {
    let (sealed, open): (ScriptedTransport, ScriptedTransport)

    init(_ sealed: ScriptedTransport, _ open: ScriptedTransport) { (self.sealed, self.open) = (sealed, open) }

    func send(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler?
    ) async throws(TransportError) -> HTTPResponse {
        let transport = request.url.path.hasPrefix("/open") ? open : sealed
        return try await transport.send(request, progress: progress)
    }
}
