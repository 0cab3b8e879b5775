import ErrandTesting
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("A recorder returns every ending once", .timeLimit(.minutes(10)))
struct RequestRecorderTests {
    let recorder = RequestRecorder()

    @Test func `A cancelled wait leaves the ending to the next one`() async {
        let request = GoodsRequest(proxy: APIProxy(fake: ScriptedTransport()))
        let impatient = Task { await recorder.ending() }
        await Task.yield()
        impatient.cancel()
        #expect(await impatient.value == nil)
        recorder.managerCallAPIDidSucceed(request)
        #expect(await recorder.ending() == .success)
    }

    @Test func `Endings are kept in their order until they are read`() async {
        let request = GoodsRequest(proxy: APIProxy(fake: ScriptedTransport()))
        recorder.managerCallAPIDidCancel(request)
        recorder.managerCallAPIDidFail(request, with: APIError(.timeout))
        #expect(await recorder.endings(2) == [.cancelled, .failure(.timeout)])
    }

    @Test func `Several tasks may wait, and each receives a different ending`() async {
        let request = GoodsRequest(proxy: APIProxy(fake: ScriptedTransport()))
        async let first = recorder.ending()
        async let second = recorder.ending()
        for _ in 0..<10 { await Task.yield() }
        recorder.managerCallAPIDidSucceed(request)
        recorder.managerCallAPIDidCancel(request)
        let endings = await [first, second]
        #expect(endings.contains(.success) && endings.contains(.cancelled))
    }
}
