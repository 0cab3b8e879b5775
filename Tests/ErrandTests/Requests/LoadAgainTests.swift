import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("A delegate may load the request that it receives again", .hangLimit, .timeLimit(.minutes(10)))
struct LoadAgainTests {
    let screen = Screen(params: ["category": 7])
    let transport = ScriptedTransport { _ in .json(goodsJSON([])) }

    private func request() -> GoodsRequest {
        GoodsRequest(delegate: screen, paramSource: screen, proxy: APIProxy(fake: transport))
    }

    private var texts: [String] {
        transport.requests.map {
            $0.body.pieces.map { if case .data(let data) = $0 { String(decoding: data, as: UTF8.self) } else { "" } }
                .joined()
        }
    }

    @Test func `A delegate of several requests distinguishes them by a switch`() async {
        final class TwoLists: APIManagerCallbackDelegate {
            lazy var goods = GoodsRequest(delegate: self, proxy: proxy)
            lazy var texts = TextRequest(delegate: self, proxy: proxy)
            let proxy: APIProxy
            var names: [String] = []

            init(_ proxy: APIProxy) { self.proxy = proxy }

            func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
                switch request {
                case goods: names.append("goods")
                case texts: names.append("texts")
                default: names.append("other")
                }
            }
            func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) {}
        }
        let screen = TwoLists(APIProxy(transport: ScriptedTransport { _ in .json(#"{"errcode":200,"data":"a"}"#) }))
        screen.proxy.defaultService = .sample { $0.envelope = nil }
        for request in [screen.texts, TextRequest(delegate: screen, proxy: screen.proxy)] {
            request.loadData()
            await request.waitUntilIdle()
        }
        #expect(screen.names == ["texts", "other"])
        #expect(Set<BaseAPIRequest>([screen.goods, screen.texts, screen.goods]).count == 2)
        #expect(screen.goods != screen.texts)
    }

    @Test func `The parameters of the newest load are sent again, whatever the param source returns now`() async {
        let request = request()
        request.reform = { $0?.merging(["page": 1]) }
        request.loadData()
        #expect(await screen.ending() == .success)
        screen.params = ["category": 8]
        screen.onParams = { _ in Issue.record("asked") }
        (request as BaseAPIRequest).loadAgain()
        #expect(await screen.ending() == .success)
        request.loadData(params: ["text": "pen"])
        #expect(await screen.ending() == .success)
        request.loadAgain()
        #expect(await screen.ending() == .success)
        let expected = [#"{"category":7,"page":1}"#, #"{"page":1,"text":"pen"}"#]
        #expect(texts == [expected[0], expected[0], expected[1], expected[1]])
    }

    @Test func `A request that is reset is as before its first load`() async {
        let request = request()
        request.loadData()
        #expect(await screen.ending() == .success)
        request.loadData()
        request.reset()
        #expect(request.response == nil && request.rawResponse == nil && request.error == nil && !request.isLoading)
        #expect(await screen.ending() == .cancelled)
        #expect(request.response == nil && request.rawResponse == nil && request.error == nil)
        screen.params = ["category": 8]
        request.loadAgain()
        #expect(await screen.ending() == .success)
        #expect(request.response != nil)
        #expect(texts.last == #"{"category":8}"#)
    }

    @Test func `A load without parameters is repeated without any`() async {
        screen.params = nil
        let request = request()
        request.loadData()
        #expect(await screen.ending() == .success)
        screen.params = ["category": 8]
        request.loadAgain()
        #expect(await screen.ending() == .success)
        #expect(texts == ["", ""])
    }

    @Test func `A request that has not been loaded asks its param source`() async {
        let request = request()
        #expect(request.loadAgain() != nil)
        #expect(await screen.ending() == .success)
        #expect(texts == [#"{"category":7}"#])
    }

    @Test func `A request without the protocol cannot load`() {
        #expect(BaseAPIRequest(proxy: APIProxy(fake: transport)).loadAgain() == nil)
    }

    @Test func `The parts of the newest load are sent again`() async {
        let request = request()
        request.customSerializer = .multipart
        screen.parts = { $0.append(Data("picture".utf8), name: "file") }
        request.loadData()
        #expect(await screen.ending() == .success)
        screen.parts = { _ in Issue.record("asked") }
        request.loadAgain()
        #expect(await screen.ending() == .success)
        #expect(texts.count == 2)
        for text in texts { #expect(text.contains("picture") && text.contains("category")) }
    }

    @Test func `A load that a param source begins inside another is the newest one`() async {
        let request = request()
        var isNested = false
        screen.onParams = { _ in
            guard !isNested else { return }
            isNested = true
            request.loadData(params: ["text": "inner"])
        }
        request.loadData()
        #expect(await screen.endings(2) == [.cancelled, .success])
        request.loadAgain()
        #expect(await screen.ending() == .success)
        #expect(texts.last == #"{"text":"inner"}"#)
    }

    @Test(arguments: [RestartPolicy.cancelPrevious, .ignoreNew, .concurrent])
    func `The restart policy applies`(_ policy: RestartPolicy) async {
        let request = request()
        request.customRestartPolicy = policy
        let first = request.loadData()
        let second = request.loadAgain()
        #expect((first == second) == (policy == .ignoreNew))
        let endings = await screen.endings(policy == .ignoreNew ? 1 : 2)
        #expect(endings == (policy == .cancelPrevious ? [.cancelled, .success] : endings.map { _ in .success }))
        await request.waitUntilIdle()
        #expect(screen.events.count == endings.count)
        #expect(Set(texts) == [#"{"category":7}"#])
    }

    @Test func `A delegate may load again inside the failure`() async {
        let responses = Responses([.status(500), .json(goodsJSON([]))])
        let transport = ScriptedTransport { _ in responses.next() }
        let request = GoodsRequest(delegate: screen, paramSource: screen, proxy: APIProxy(fake: transport))
        screen.onEvent = { failed, event in if event == .failure(.http) { failed.loadAgain() } }
        request.loadData(params: ["text": "pen"])
        #expect(await screen.endings(2) == [.failure(.http), .success])
        #expect(transport.requests.map(\.body) == Array(repeating: .data(Data(#"{"text":"pen"}"#.utf8)), count: 2))
    }

    @Test func `A key that is spent is not sent after a load that was not needed`() async {
        let (request, keys) = (request(), Counter())
        request.ownOptions.idempotencyKey = { "key \(keys.next())" }
        request.loadData()
        #expect(await screen.ending() == .success)
        request.loadIfNeeded(maxAge: .seconds(60))
        #expect(await screen.ending() == .success)
        request.loadAgain()
        #expect(await screen.ending() == .success)
        #expect(transport.requests.map { $0.headers["Idempotency-Key"] } == ["key 1", "key 2"])
    }

    @Test func `What another path of the service has sent is not enough for a load that may not be needed`() async {
        let transport = ScriptedTransport { .json(goodsJSON([Goods(id: 1, name: $0.url.path)])) }
        let proxy = APIProxy(service: .sample(), transport: transport)
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.method = .get
        request.loadData()
        #expect(await screen.ending() == .success)
        let former = request.response
        request.loadIfNeeded(maxAge: .seconds(60))
        #expect(await screen.ending() == .success)
        #expect(transport.requests.count == 1)
        proxy.defaultService?.baseURL.append(path: "tenants/8")
        request.loadIfNeeded(maxAge: .seconds(60))
        #expect(await screen.ending() == .success)
        #expect(transport.requests.count == 2 && request.response != former)
    }

    @Test func `A load that was not needed is the newest one, with its parameters`() async {
        let request = request()
        for text in ["tea", "pen"] {
            let id = request.loadData(params: ["text": text])
            if text == "pen" { request.cancelRequest(id) }
            #expect(await screen.ending() == (text == "pen" ? .cancelled : .success))
        }
        request.loadIfNeeded(maxAge: .seconds(60), params: ["text": "tea"])
        #expect(await screen.ending() == .success)
        request.loadAgain()
        #expect(await screen.ending() == .success)
        #expect(texts.last == #"{"text":"tea"}"#)
    }

    @Test func `A load that was not needed keeps the parts of the load that was`() async {
        let request = request()
        screen.parts = { $0.append(Data("picture".utf8), name: "file") }
        request.customSerializer = .multipart
        request.loadData()
        #expect(await screen.ending() == .success)
        screen.parts = { _ in }
        request.loadIfNeeded(maxAge: .seconds(60))
        #expect(await screen.ending() == .success)
        request.loadAgain()
        #expect(await screen.ending() == .success)
        #expect(texts.count == 2 && texts.allSatisfy { $0.contains("picture") })
    }
}
