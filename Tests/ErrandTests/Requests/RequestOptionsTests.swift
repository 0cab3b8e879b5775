import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("Options of one request for cookies and the network", .hangLimit, .timeLimit(.minutes(10)))
struct RequestOptionsTests {
    private let screen = Screen()

    private func request(_ proxy: APIProxy, _ options: APIRequestOptions) -> GoodsRequest {
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        (request.method, request.ownOptions) = (.get, options)
        return request
    }

    @Test(arguments: [true, false])
    func `Without cookies none is sent or stored, also after a redirect`(_ sendsCookies: Bool) async throws {
        let transport = ScriptedTransport { request in
            request.url.path.hasSuffix("goods")
                ? .status(302, headers: ["Location": "/moved", "Set-Cookie": "b=2; Path=/"])
                : .json(goodsJSON([]), headers: ["Set-Cookie": "c=3; Path=/"])
        }
        let proxy = APIProxy(service: .sample(), transport: transport)
        let url = try #require(proxy.defaultService?.baseURL)
        _ = proxy.cookies.store(setCookie: "a=1; Path=/", from: url)
        let request = request(proxy, APIRequestOptions(sendsCookies: sendsCookies))
        request.loadData()
        #expect(await screen.ending() == .success)
        #expect(transport.requests.map { $0.headers["Cookie"] } == (sendsCookies ? ["a=1", "a=1; b=2"] : [nil, nil]))
        #expect(proxy.cookies.cookies(for: url).map(\.name) == (sendsCookies ? ["a", "b", "c"] : ["a"]))
    }

    @Test func `Loads with and without cookies share no exchange`() async {
        let gate = Latch()
        let transport = ScriptedTransport { _ in
            try await gate.wait()
            return .json(goodsJSON([]))
        }
        let proxy = APIProxy(service: .sample(), transport: transport)
        let with = request(proxy, APIRequestOptions(coalescesIdentical: true))
        let without = request(proxy, APIRequestOptions(coalescesIdentical: true, sendsCookies: false))
        with.loadData()
        without.loadData()
        await transport.waitForRequests(2)
        gate.open()
        #expect(await screen.endings(of: [with, without]) == [.success, .success])
    }

    @Test func `A load that needs a network fails at once while there is none, and the others are sent`() async {
        let network = Reachability(status: .unreachable)
        let transport = ScriptedTransport { _ in .json(goodsJSON([])) }
        let proxy = APIProxy(service: .sample(), transport: transport, reachability: network)
        let request = request(proxy, APIRequestOptions(failsWhenUnreachable: true))
        request.loadData()
        #expect(await screen.ending() == .failure(.noNetwork))
        #expect(transport.requests.isEmpty)
        network.report(.reachable(.wired))
        request.loadData()
        #expect(await screen.ending() == .success)
        network.report(.unreachable)
        request.ownOptions.failsWhenUnreachable = false
        request.loadData()
        #expect(await screen.ending() == .success)
        network.report(.unknown)
        request.ownOptions.failsWhenUnreachable = true
        request.loadData()
        #expect(await screen.ending() == .success)
    }

    #if !canImport(Darwin)
    @Test func `Where a cellular network cannot be refused, a load that does fails by name`() async throws {
        let server = try FixtureServer.start { _ in .json(bytes: Data(goodsJSON([]).utf8)) }
        let proxy = APIProxy(service: APIService(baseURL: server.url("/")))
        let request = request(proxy, APIRequestOptions(allowsCellularAccess: false))
        request.loadData()
        #expect(await screen.ending() == .failure(.invalidRequest))
        #expect(request.error?.description.contains("allowsCellularAccess") == true)
        request.ownOptions.allowsCellularAccess = true
        request.loadData()
        #expect(await screen.ending() == .success)
    }
    #endif
}
