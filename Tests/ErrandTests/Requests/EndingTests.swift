import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("Every load ends exactly once", .hangLimit, .timeLimit(.minutes(10)))
struct EndingTests {
    let screen = Screen(params: ["category": 7])

    @Test func `A load succeeds in the success method, with the decoded response`() async {
        let transport = ScriptedTransport { _ in .json(goodsJSON([Goods(id: 1, name: "苹果")])) }
        let request = GoodsRequest(delegate: screen, paramSource: screen, proxy: APIProxy(fake: transport))
        let id = request.loadData()
        #expect(id.rawValue != 0)
        #expect(request.isLoading)
        #expect(screen.events.isEmpty)
        #expect(await screen.ending() == .success)
        #expect(request.response == [Goods(id: 1, name: "苹果")])
        #expect(request.rawResponse?.status == 200)
        #expect(request.error == nil)
        #expect(!request.isLoading)
        #expect(request.proxy.activeRequests.isEmpty)
        #expect(transport.requests.first?.url.absoluteString == "http://shop.test/api/goods")
        #expect(transport.requests.first?.body == .data(Data(#"{"category":7}"#.utf8)))
    }

    @Test func `A failure is delivered to the failure method and keeps the last response`() async {
        let responses = Responses([.json(goodsJSON([Goods(id: 1, name: "a")])), .json(#"{"errcode":5001,"msg":"售罄"}"#)])
        let transport = ScriptedTransport { _ in responses.next() }
        let request = GoodsRequest(delegate: screen, proxy: APIProxy(fake: transport))
        request.loadData()
        #expect(await screen.ending() == .success)
        request.loadData()
        #expect(await screen.ending() == .failure(.server))
        #expect(request.error?.code == 5001)
        #expect(request.error?.message == "售罄")
        #expect(request.response?.count == 1)
        #expect(request.rawResponse?.text.contains("5001") == true)
    }

    /// Why a request cannot be built: known when it begins, except for its parameters, which are encoded at its turn.
    enum Fault: CaseIterable, Sendable {
        case service, parts, partsWithoutBody, destination, validator, params
    }

    private func request(with fault: Fault, _ proxy: APIProxy, _ validator: ValidatorSpy) -> FileRequest {
        let request = FileRequest(delegate: screen, paramSource: screen, proxy: proxy)
        request.validator = validator
        switch fault {
        case .service: proxy.defaultService = nil
        case .parts: screen.parts = { $0.append(Data("x".utf8), name: "x") }
        case .partsWithoutBody:
            (request.customSerializer, request.method) = (.multipart, .get)
            screen.parts = { $0.append(Data("x".utf8), name: "x") }
        case .destination: request.target = .file(URL(filePath: "/nowhere/goods"))
        case .validator: validator.acceptsParams = { _ in false }
        case .params: screen.params = ["price": Double.nan]
        }
        return request
    }

    @Test(arguments: Fault.allCases)
    func `A request that cannot be built fails asynchronously, like any other`(_ fault: Fault) async {
        let (transport, validator, indicator) = (ScriptedTransport(), ValidatorSpy(), IndicatorSpy())
        let proxy = APIProxy(fake: transport)
        let request = request(with: fault, proxy, validator)
        let id = request.loadData(indicator: indicator)
        #expect(screen.events.isEmpty, "no callback before the call returns")
        #expect(request.isLoading && indicator.hides == 0)
        #expect(proxy.activeRequests.map(\.id) == [id])
        #expect(await screen.ending() == .failure(.invalidRequest))
        await sentinel(proxy)
        #expect(screen.events == [.failure(.invalidRequest)])
        #expect(transport.requests.isEmpty)
        #expect(!request.isLoading && indicator.isBalanced)
    }

    @Test(arguments: Fault.allCases.filter { $0 != .params })
    func `A request that cannot be built is cancelled like any other until its failure is delivered`(
        _ fault: Fault
    ) async {
        let (proxy, validator) = (APIProxy(fake: ScriptedTransport()), ValidatorSpy())
        let request = request(with: fault, proxy, validator)
        #expect(proxy.cancelRequest(request.loadData()))
        #expect(await screen.ending() == .cancelled)
        await sentinel(proxy)
        #expect(screen.events == [.cancelled])
    }

    @Test func `Without a service a load fails, and the error explains the remedy`() async {
        let request = GoodsRequest(delegate: screen, proxy: APIProxy(transport: ScriptedTransport()))
        request.loadData()
        #expect(await screen.ending() == .failure(.invalidRequest))
        #expect(request.error?.reason?.contains("defaultService") == true)
    }

    @Test func `IDs are never 0 and never repeated`() async {
        let request = GoodsRequest(delegate: screen, proxy: APIProxy(fake: ScriptedTransport()))
        var ids: Set<RequestID> = []
        for _ in 0..<100 {
            ids.insert(request.loadData())
            _ = await screen.ending()
        }
        #expect(ids.count == 100)
        #expect(!ids.contains(RequestID(rawValue: 0)))
    }

    @Test func `Responses are decoded off the main actor`() async throws {
        final class Probe: SampleRequest, APIManager {
            typealias Response = Bool
            var responseSerializer: ResponseSerializer<Bool> { ResponseSerializer { _, _ in MainQueue.isCurrent } }
        }
        MainQueue.mark()
        #expect(MainQueue.isCurrent, "the probe can tell the main queue")
        #expect(try await Probe(proxy: APIProxy(fake: ScriptedTransport())).value() == false)
    }

    @Test func `The async form returns the response and does not notify the delegate`() async throws {
        let transport = ScriptedTransport { _ in .json(goodsJSON([Goods(id: 2, name: "b")])) }
        let request = GoodsRequest(delegate: screen, proxy: APIProxy(fake: transport))
        let goods = try await request.value()
        #expect(goods == [Goods(id: 2, name: "b")])
        #expect(request.response == goods)
        #expect(screen.events.isEmpty)
    }

    @Test func `The async form throws the typed error`() async {
        let transport = ScriptedTransport { _ in .json("{}", status: 503) }
        let request = GoodsRequest(proxy: APIProxy(fake: transport))
        let error = await #expect(throws: APIError.self) { try await request.value() }
        #expect(error?.type == .http)
        #expect(error?.status == 503)
    }

    @Test func `Requests without a common type can be loaded together`() async {
        let proxy = APIProxy(fake: ScriptedTransport())
        let requests: [any APIManager] = [
            GoodsRequest(delegate: screen, proxy: proxy), NothingRequest(delegate: screen, proxy: proxy),
        ]
        for request in requests { request.loadData() }
        #expect(await screen.endings(of: requests) == [.success, .success])
    }
}

/// A request whose response is decoded from memory, and which may name a file.
private final class FileRequest: SampleRequest, APIManager {
    typealias Response = [Goods]
    var target = HTTPRequest.Destination.memory

    override var destination: HTTPRequest.Destination { target }
}

/// Identifies the main queue, which `Thread.isMainThread` cannot under an `async` main on Linux.
private enum MainQueue {
    private static let key = DispatchSpecificKey<Bool>()

    static func mark() { DispatchQueue.main.setSpecific(key: key, value: true) }
    static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true }
}
