import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand

struct Goods: Codable, Equatable, Sendable {
    var id: Int
    var name: String
}

/// A request for tests, whose hooks are closures.
@MainActor class SampleRequest: BaseAPIRequest {
    var path = "/goods"
    var method = HTTPMethod.post
    var customService: APIService?
    var customHeaders: HTTPHeaders = [:]
    var customTimeout: Duration?
    var customSerializer = RequestSerializer.json
    var customRestartPolicy = RestartPolicy.cancelPrevious
    var customLogin = false
    var ownOptions = APIRequestOptions()
    var reform: (APIParams?) -> APIParams? = { $0 }

    required override init(
        delegate: (any APIManagerCallbackDelegate)? = nil,
        paramSource: (any APIManagerParamSource)? = nil,
        proxy: APIProxy?
    ) {
        super.init(delegate: delegate, paramSource: paramSource, proxy: proxy)
    }

    override var service: APIService? { customService }
    override var headers: HTTPHeaders { customHeaders }
    override var timeout: Duration? { customTimeout }
    override var requestSerializer: RequestSerializer { customSerializer }
    override var restartPolicy: RestartPolicy { customRestartPolicy }
    override var isLoginRequest: Bool { customLogin }
    override var options: APIRequestOptions { ownOptions }
    override func reformParams(_ params: APIParams?) -> APIParams? { reform(params) }
}

final class GoodsRequest: SampleRequest, APIManager {
    typealias Response = [Goods]
    var reformGoods: ([Goods]) -> [Goods] = { $0 }

    func reformData(_ response: [Goods]) -> [Goods] { reformGoods(response) }
}

extension GoodsRequest {
    /// Begins a load and retains the request until the load has ended.
    func loadRetainingSelf() {
        ownOptions.releasePolicy = .finish
        let kept = self
        Task { @MainActor in
            kept.loadData()
            await suspend(while: kept.isLoading)
        }
    }
}

extension APIManager {
    /// Waits for a load in an async call, and returns the type of its error; `nil` with a response.
    func outcome() async -> APIErrorType? {
        do throws(APIError) {
            _ = try await value()
            return nil
        } catch {
            return error.type
        }
    }
}

final class TextRequest: SampleRequest, APIManager {
    typealias Response = String
}

final class DataRequest: SampleRequest, APIManager {
    typealias Response = Data
}

final class NothingRequest: SampleRequest, APIManager {
    typealias Response = Void
}

final class JSONRequest: SampleRequest, APIManager {
    typealias Response = JSONValue
}

extension APIService {
    /// A service for transports without a network.
    static func sample(_ change: (inout APIService) -> Void = { _ in }) -> APIService {
        var service = APIService(baseURL: URL("http://shop.test/api"))
        service.retryPolicy = .never
        change(&service)
        return service
    }
}

extension URL {
    /// Creates a URL from valid text.
    init(_ text: String) {
        guard let url = URL(string: text) else { preconditionFailure("\(text) is no URL") }
        self = url
    }
}

extension APIProxy {
    /// Creates a proxy with the sample service and a test transport.
    convenience init(fake transport: ScriptedTransport, service: APIService = .sample()) {
        self.init(service: service, transport: transport)
    }
}

/// The JSON of a successful goods list.
func goodsJSON(_ goods: [Goods]) -> String {
    let list = (try? JSONEncoder().encode(goods)).map { String(decoding: $0, as: UTF8.self) } ?? "[]"
    return #"{"errcode":200,"msg":"ok","data":\#(list)}"#
}

/// A screen for tests.
typealias Screen = RequestRecorder

extension BaseAPIRequest {
    /// Waits for the ending of a load that this call has not begun.
    func ending(of id: RequestID) async -> Result<any Sendable, APIError> {
        let caller = LoadCaller(of: id, in: proxy, ifLeft: Result<any Sendable, _>.failure(APIError(.cancelled)))
        wait(for: id, as: caller) { caller.end(with: $0) }
        defer { removeWaiters(of: caller) }
        return await caller.outcome()
    }
}

extension RequestDraft {
    /// The request of this draft for a service.
    func request(for service: APIService, with common: CommonValues = CommonValues()) throws(APIError) -> HTTPRequest {
        try RequestBuilder(self, for: service).request(with: common)
    }
}

extension QueuePlace {
    /// The place of a load that begins now.
    static func next(_ lane: QueueLane) -> QueuePlace {
        QueuePlace(number: RequestID.next().queueNumber, lane: lane)
    }
}

extension APIProxy {
    /// How many loads take part in shared exchanges.
    var sharedLoadCount: Int {
        sharedExchanges.memberCount
    }
}

/// A stream whose hooks a test sets.
@MainActor class SampleStream<Element: Sendable>: StreamAPIRequest<Element> {
    var path = "/events"
    var method = HTTPMethod.get
    var customStrategy: StreamStrategy<Element>?
    var limit = 1_000
    var ownOptions = APIRequestOptions()
    var ownTimeout: Duration?
    var ownHeaders: HTTPHeaders = [:]
    var onReform: (@MainActor () -> Void)?
    var customRestartPolicy = RestartPolicy.cancelPrevious

    required override init(
        delegate: (any APIManagerCallbackDelegate)? = nil,
        paramSource: (any APIManagerParamSource)? = nil,
        proxy: APIProxy?
    ) {
        super.init(delegate: delegate, paramSource: paramSource, proxy: proxy)
    }

    override var strategy: StreamStrategy<Element>? { customStrategy ?? super.strategy }
    override var maxElements: Int { limit }
    override var options: APIRequestOptions { ownOptions }
    override var timeout: Duration? { ownTimeout }
    override var headers: HTTPHeaders { ownHeaders }
    override func reformParams(_ params: APIParams?) -> APIParams? {
        exchange(&onReform, with: nil)?()
        return params
    }
    override var restartPolicy: RestartPolicy { customRestartPolicy }
}

final class EventStream: SampleStream<ServerSentEvent>, APIManager {}
final class LineStream: SampleStream<String>, APIManager {}
final class GoodsStream: SampleStream<Goods>, APIManager {}
final class DataStream: SampleStream<Data>, APIManager {}
final class OpaqueStream: SampleStream<Latch>, APIManager {}
final class StoredStream: SampleStream<String>, APIManager {
    override var destination: HTTPRequest.Destination { .folder(.temporaryDirectory) }
}

extension HTTPResponse {
    /// Creates a response of plain text.
    static func text(_ text: String, status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, body: Data(text.utf8))
    }
}
