import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("Waiting until a request is idle", .timeLimit(.minutes(10)))
struct WaitUntilIdleTests {
    @Test func `A request is idle only after its delegate has been notified of a cancel`() async {
        let screen = RequestRecorder()
        let never = Latch()
        let transport = ScriptedTransport { _ in
            try await never.wait()
            return .status(200)
        }
        let request = GoodsRequest(delegate: screen, proxy: APIProxy(fake: transport))
        request.loadData()
        request.cancelAllRequests()
        await request.waitUntilIdle()
        #expect(screen.events == [.cancelled])
        request.loadData()
        let waiting = Task { await request.waitUntilIdle() }
        waiting.cancel()
        await waiting.value
        #expect(request.isLoading)
    }

    @Test(arguments: [RequestRecorder.Event.success, .failure(.server), .cancelled])
    func `A load that the delegate begins in its method is waited for as well`(
        _ ending: RequestRecorder.Event
    ) async {
        let screen = RequestRecorder()
        let count = Counter()
        let transport = ScriptedTransport { _ in
            let isRefused = count.next() == 1 && ending == .failure(.server)
            return isRefused ? try .envelope(code: 5001) : .json(goodsJSON([]))
        }
        let request = GoodsRequest(delegate: screen, proxy: APIProxy(fake: transport))
        screen.onEvent = { request, _ in
            if screen.events.count < 3 { (request as? GoodsRequest)?.loadData() }
        }
        request.loadData()
        if ending == .cancelled { request.cancelAllRequests() }
        await request.waitUntilIdle()
        #expect(screen.events == [ending, .success, .success])
        #expect(!request.isLoading)
    }

    @Test func `A cancelled download is idle only after its file is removed and its delegate notified`() async throws {
        let screen = RequestRecorder()
        let (never, folder) = (Latch(), try TemporaryFolder())
        let transport = ScriptedTransport { _ in
            try await never.wait()
            return .status(200)
        }
        let proxy = APIProxy(fake: transport)
        for number in 1...20 {
            let request = APIRequest<DownloadedFile>(
                "/file",
                destination: .file(folder.url.appending(path: "file")),
                delegate: screen,
                proxy: proxy
            )
            request.loadData()
            await transport.waitForRequests(number)
            request.cancelAllRequests()
            #expect(!request.isLoading)
            await request.waitUntilIdle()
            #expect(screen.events.count == number)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == [])
        }
    }
}
