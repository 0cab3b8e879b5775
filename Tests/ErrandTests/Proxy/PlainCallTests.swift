import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@Suite("Plain calls", .hangLimit, .timeLimit(.minutes(10)))
struct PlainCallTests {
    /// A transport that exposes its progress handler and waits until it is released, cancelled or not.
    private final class ProgressingTransport: HTTPTransport {
        let latch = Latch()
        let handler = Lock<TransferProgress.Handler?>(nil)

        func send(
            _ request: HTTPRequest,
            progress: TransferProgress.Handler?
        ) async throws(TransportError) -> HTTPResponse {
            handler.withLock { $0 = progress }
            await latch.waitIgnoringCancellation()
            return .status(200)
        }

        func report() {
            handler.withLock { $0 }?(TransferProgress(.upload, completedBytes: 1, totalBytes: nil))
        }
    }

    @Test func `No progress of a cancelled call is reported`() async {
        let transport = ProgressingTransport()
        let proxy = APIProxy(transport: transport)
        let reports = Lock(0)
        let call = Task {
            try await proxy.send(HTTPRequest(.get, URL("http://shop.test/"))) { _ in reports.withLock { $0 += 1 } }
        }
        await suspend(while: transport.handler.withLock({ $0 == nil }))
        transport.report()
        proxy.cancelAllRequests()
        await #expect(throws: APIError.self) { try await call.value }
        transport.report()
        #expect(reports.withLock { $0 } == 1)
        transport.latch.open()
    }
}
