import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor
@Suite("Adapters apply to every kind of load", .hangLimit, .timeLimit(.minutes(10)))
struct AdaptedLoadTests {
    private final class Texts: PageAPIRequest<PageModel<String>>, APIManager {
        let path = "/texts"
        let method = HTTPMethod.get
        override var strategy: any PageStrategy {
            LinkStrategy(next: .body("next"), allowedOrigins: [URL("https://pages.test")])
        }
    }

    private let journal = AdapterJournal()
    private let screen = Screen()

    private func proxy(_ transport: ScriptedTransport, _ change: (inout APIService) -> Void = { _ in }) -> APIProxy {
        let service = APIService.sample {
            $0.adapters = journal.adapters("1")
            change(&$0)
        }
        return APIProxy(fake: transport, service: service)
    }

    // MARK: Joined loads

    private func held(_ gate: Latch) -> ScriptedTransport {
        ScriptedTransport { _ in
            try await gate.wait()
            return .json(goodsJSON([Goods(id: 1, name: "tea")]))
        }
    }

    private func joining(_ proxy: APIProxy, _ adapters: Adapters) -> APIRequest<[Goods]> {
        var options = APIRequestOptions(adapters: adapters)
        options.coalescesIdentical = true
        return APIRequest("/goods", options: options, delegate: screen, proxy: proxy)
    }

    private func renaming(_ name: String) -> Adapters {
        var adapters = Adapters()
        adapters.response = [
            Adapter { response, _ in response.body = Data(response.text.replacing("tea", with: name).utf8) }
        ]
        adapters.data = [
            Adapter { data, _ in data = Data(String(decoding: data, as: UTF8.self).replacing("1", with: "2").utf8) }
        ]
        return adapters
    }

    @Test func `Loads that share an exchange have their responses adapted one by one`() async {
        let gate = Latch()
        let transport = held(gate)
        let proxy = proxy(transport)
        let requests = ["a", "b", "c"].map { joining(proxy, renaming($0)) }
        for request in requests { request.loadData() }
        await suspend(while: proxy.sharedLoadCount < 3)
        gate.open()
        #expect(await screen.endings(of: requests) == [.success, .success, .success])
        #expect(transport.requests.count == 1)
        #expect(requests.map { $0.response?.first } == ["a", "b", "c"].map { Goods(id: 2, name: $0) })
        for kind in AdapterKind.allCases { #expect(journal.contexts(of: kind).count == 3) }
        #expect(Set(journal.contexts(of: .response).map(\.id)).count == 3)
    }

    @Test func `Loads whose request adapters differ share no exchange`() async {
        let gate = Latch()
        let transport = held(gate)
        let proxy = proxy(transport)
        let requests = (0..<2).map { number in
            var adapters = Adapters()
            adapters.request = [Adapter { request, _ in request.headers["X-Number"] = "\(number)" }]
            return joining(proxy, adapters)
        }
        for request in requests { request.loadData() }
        await transport.waitForRequests(2)
        #expect(proxy.sharedLoadCount == 2)
        gate.open()
        #expect(await screen.endings(of: requests) == [.success, .success])
    }

    @Test func `One of the loads that share an exchange is sent again alone`() async {
        let gate = Latch()
        let transport = held(gate)
        let proxy = proxy(transport)
        let again = Adapters([.response]) { _, context in if context.attempt == 1 { throw AdapterRetry.again() } }
        let requests = [joining(proxy, again), joining(proxy, Adapters())]
        for request in requests { request.loadData() }
        await suspend(while: proxy.sharedLoadCount < 2)
        gate.open()
        #expect(await screen.endings(of: requests) == [.success, .success])
        #expect(transport.requests.count == 2)
        #expect(journal.contexts(of: .request).map(\.attempt).sorted() == [1, 1, 2])
    }

    // MARK: Plain calls

    @Test func `A plain call to a service has its request and its response adapted, whatever the status`() async throws
    {
        let transport = ScriptedTransport { _ in .json("", status: 404) }
        let proxy = proxy(transport) {
            $0.adapters.response.append(Adapter { response, _ in response.headers["X-Seen"] = "1" })
        }
        let service = try #require(proxy.defaultService)
        let response = try await proxy.send(HTTPRequest(.get, URL("/plain")), to: service)
        #expect(response.status == 404 && response.headers["X-Seen"] == "1")
        #expect(journal.names == ["request 1", "response 1"])
        #expect(journal.calls.compactMap(\.context?.path).allSatisfy { $0.hasSuffix("/plain") })
        _ = try await proxy.send(HTTPRequest(.get, URL("http://shop.test/plain")))
        #expect(journal.calls.count == 2, "one without a service is not adapted")
    }

    @Test func `An error of an adapter is not the response of a plain call`() async throws {
        let transport = ScriptedTransport { _ in .json("[]") }
        let other = APIResponse(HTTPResponse(status: 404), url: URL("http://other.test"))
        for kind in [AdapterKind.request, .response] {
            let proxy = proxy(transport) {
                $0.adapters = Adapters([kind]) { _, _ in throw APIError(.http, response: other) }
            }
            let service = try #require(proxy.defaultService)
            let error = await #expect(throws: APIError.self) {
                try await proxy.send(HTTPRequest(.get, URL("/plain")), to: service)
            }
            #expect(error?.type == .http && error?.status == 404)
        }
    }

    @Test func `A plain call is sent again once for an adapter`() async throws {
        let transport = ScriptedTransport { _ in .json("[]") }
        let proxy = proxy(transport) {
            $0.adapters.response = [Adapter { _, context in if context.attempt == 1 { throw AdapterRetry.again() } }]
        }
        let service = try #require(proxy.defaultService)
        let response = try await proxy.send(HTTPRequest(.post, URL("/plain")), to: service)
        #expect(response.status == 200 && transport.requests.count == 2)
    }

    // MARK: Lists, batches and chains

    @Test func `Param adapters see what a list adds for a page`() async throws {
        let pages = [0..<10, 10..<15].map { "[\($0.map(String.init).joined(separator: ","))]" }
        let responses = Responses(pages.map { .json(#"{"errcode":200,"data":\#($0)}"#) })
        let transport = ScriptedTransport { _ in responses.next() }
        let proxy = proxy(transport) {
            $0.adapters.params = [
                Adapter { params, _ in
                    let offset = params?["offset"] as? Int ?? -1
                    params?["signature"] = "of \(offset)"
                }
            ]
        }
        let list = OffsetNumbers(proxy: proxy)
        #expect(try await list.allItems() == Array(0..<15))
        let queries = transport.requests.compactMap { $0.url.query(percentEncoded: false) }
        #expect(queries.map { $0.contains("signature=of+") } == [true, true])
        #expect(queries.last?.contains("of+10") == true)
        #expect(journal.contexts(of: .data).map(\.attempt) == [1, 1])
    }

    @Test func `Each request of a batch and of a chain is adapted`() async throws {
        let transport = ScriptedTransport { _ in .json(goodsJSON([Goods(id: 1, name: "tea")])) }
        let proxy = proxy(transport)
        let requests = (0..<3).map { _ in GoodsRequest(proxy: proxy) }
        _ = try await APIBatch.values(of: requests)
        let chain = APIChain()
        let first = chain.add(GoodsRequest(proxy: proxy))
        _ = chain.add { () throws -> GoodsRequest in
            let request = GoodsRequest(proxy: proxy)
            request.path = "/goods/\(try first.value[0].id)"
            return request
        }
        try await chain.run()
        for kind in AdapterKind.allCases { #expect(Set(journal.contexts(of: kind).map(\.id)).count == 5) }
    }

    // MARK: Links to another origin

    @Test func `For a link to another origin only the response and its data are adapted`() async throws {
        let responses = Responses([
            .json(#"{"results":["1"],"next":"https://pages.test/2"}"#), .json(#"{"results":["2"],"next":null}"#),
        ])
        let transport = ScriptedTransport { _ in responses.next() }
        var service = APIService(baseURL: URL("https://shop.test/api"))
        (service.envelope, service.retryPolicy) = (nil, .never)
        service.adapters = journal.adapters("1")
        service.adapters.response.append(
            Adapter { [journal] response, context in
                journal.note("\(response.url.host ?? "") \(context.attempt) \(context.request?.url.host ?? "")")
            }
        )
        let list = Texts(proxy: APIProxy(fake: transport, service: service))
        #expect(try await list.allItems() == ["1", "2"])
        #expect(
            journal.names == [
                "params 1", "request 1", "response 1", "shop.test 1 shop.test", "data 1",
                "response 1", "pages.test 1 pages.test", "data 1",
            ]
        )
    }
}
