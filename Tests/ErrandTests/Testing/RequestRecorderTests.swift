import ErrandTesting
import Testing

@testable import Errand

@MainActor @Suite("A recorder hands out every ending once", .timeLimit(.minutes(10)))
struct RequestRecorderTests {
    let recorder = RequestRecorder()

    @Test func `Who gives up waiting for an ending leaves it to the next`() async {
        let request = GoodsRequest(proxy: APIProxy(fake: ScriptedTransport()))
        let impatient = Task { await recorder.ending() }
        await Task.yield()
        impatient.cancel()
        #expect(await impatient.value == nil)
        recorder.managerCallAPIDidSucceed(request)
        #expect(await recorder.ending() == .success)
    }

    @Test func `Endings that nobody has asked for yet are kept, in their order`() async {
        let request = GoodsRequest(proxy: APIProxy(fake: ScriptedTransport()))
        recorder.managerCallAPIDidCancel(request)
        recorder.managerCallAPIDidFail(request, with: APIError(.timeout))
        #expect(await recorder.endings(2) == [.cancel, .failure(.timeout)])
    }

    @Test func `Several may wait, and each gets an ending of its own`() async {
        let request = GoodsRequest(proxy: APIProxy(fake: ScriptedTransport()))
        async let first = recorder.ending()
        async let second = recorder.ending()
        for _ in 0..<10 { await Task.yield() }
        recorder.managerCallAPIDidSucceed(request)
        recorder.managerCallAPIDidCancel(request)
        let endings = await [first, second]
        #expect(endings.contains(.success) && endings.contains(.cancel))
    }
}
