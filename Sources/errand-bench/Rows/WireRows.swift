import Errand
import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
#if os(Linux)
import CurlRuntime
#endif

/// A way to send the same request repeatedly, with several requests in flight.
@MainActor protocol RequestLoop {
    /// Sends this many requests and returns when all have succeeded.
    func run(requests: Int, concurrency: Int) async throws
}

/// Measures a loop as a whole: time, CPU and memory.
struct MeasuredLoop: Workload {
    let loop: any RequestLoop

    func run(_ order: Order) async throws -> Measurement {
        let meter = Meter()
        try await loop.run(requests: order.requests, concurrency: order.concurrency)
        return meter.measurement(of: order.requests)
    }
}

/// Loads from `loadData` to the delegate, as a screen does.
@MainActor final class LayerLoop: RequestLoop, APIManagerCallbackDelegate, APIManagerParamSource {
    private let proxy: APIProxy
    private var requests: [GoodsListRequest] = []
    private var toBegin = 0
    private var toEnd = 0
    private var continuation: CheckedContinuation<Void, any Error>?

    init(_ service: APIService) throws {
        proxy = APIProxy(service: service, transport: try Connections.transport(), queueLimits: Connections.limits)
    }

    func run(requests count: Int, concurrency: Int) async throws {
        while requests.count < concurrency {
            requests.append(GoodsListRequest(delegate: self, paramSource: self, proxy: proxy))
        }
        (toBegin, toEnd) = (count, count)
        try await withCheckedThrowingContinuation { continuation in
            self.continuation = continuation
            for request in requests.prefix(concurrency) { loadNext(request) }
        }
    }

    func params(for request: BaseAPIRequest) -> APIParams? {
        ["category": 7]
    }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        guard let request = request as? GoodsListRequest, request.response?.count == Goods.count else {
            return end(throwing: BenchFailure("the layer's response is not the list of goods"))
        }
        toEnd -= 1
        toEnd == 0 ? end() : loadNext(request)
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) {
        end(throwing: error)
    }

    private func loadNext(_ request: GoodsListRequest) {
        guard toBegin > 0 else { return }
        toBegin -= 1
        request.loadData()
    }

    private func end(throwing error: (any Error)? = nil) {
        toBegin = 0
        continuation?.resume(with: error.map { .failure($0) } ?? .success(()))
        continuation = nil
    }
}

/// Loads with `APIProxy.send`, in one task for each request in flight.
struct ProxyLoop: RequestLoop {
    private let proxy: APIProxy
    private let request: HTTPRequest

    init(_ url: URL) throws {
        proxy = APIProxy(transport: try Connections.transport(), queueLimits: Connections.limits)
        request = HTTPRequest(.get, url)
    }

    func run(requests: Int, concurrency: Int) async throws {
        try await Countdown(requests).share(among: concurrency) { [proxy, request] in
            let response = try await proxy.send(request)
            guard response.body.count == Goods.responseBytes.count else {
                throw BenchFailure("the proxy's response is not whole")
            }
        }
    }
}

#if os(Linux)
/// The same requests with bare libcurl: one loop, one thread, reused handles.
final class FloorLoop: RequestLoop {
    private let multi: OpaquePointer?
    private let url: URL
    private let decoder: JSONDecoder?
    private var idle: [FloorTransfer] = []

    init(_ url: URL, decodes: Bool) {
        multi = curlrt_unavailable() == nil ? curlrt_multi_make() : nil
        self.url = url
        decoder = decodes ? JSONDecoder() : nil
    }

    func run(requests: Int, concurrency: Int) async throws {
        guard let multi else { throw BenchFailure("there is no libcurl") }
        while idle.count < concurrency { idle.append(try FloorTransfer(url)) }
        let transfers = idle.prefix(concurrency)
        var (toBegin, toEnd) = (requests, requests)
        for transfer in transfers.prefix(requests) {
            toBegin -= 1
            transfer.begin(in: multi)
        }
        while toEnd > 0 {
            curlrt_multi_perform(multi)
            var code: Int32 = 0
            while let easy = curlrt_multi_next_finished(multi, &code) {
                let transfer = try FloorTransfer.finished(easy, code, in: multi)
                if let decoder { try Goods.check(transfer.body, decoder) }
                toEnd -= 1
                guard toBegin > 0 else { continue }
                toBegin -= 1
                transfer.begin(in: multi)
            }
            if toEnd > 0 { curlrt_multi_wait(multi, 1_000) }
        }
    }
}

/// A handle and the body that it collects.
private final class FloorTransfer {
    /// The numbers of libcurl's options (`CURLOPT_…`).
    private enum Option {
        static let noSignal: Int32 = 99
        static let url: Int32 = 10_002
        static let writeContext: Int32 = 10_001
        static let write: Int32 = 20_011
        static let context: Int32 = 10_103
    }

    private(set) var body = Data()
    private let easy: OpaquePointer

    init(_ url: URL) throws {
        guard let easy = curlrt_easy_make() else { throw BenchFailure("libcurl has no memory") }
        self.easy = easy
        let context = Unmanaged.passUnretained(self).toOpaque()
        curlrt_easy_set_number(easy, Option.noSignal, 1)
        _ = url.absoluteString.withCString { curlrt_easy_set_pointer(easy, Option.url, $0) }
        curlrt_easy_set_pointer(easy, Option.writeContext, context)
        curlrt_easy_set_pointer(easy, Option.context, context)
        curlrt_easy_set_transfer(easy, Option.write) { bytes, size, count, context in
            guard let bytes, let context else { return 0 }
            let transfer = Unmanaged<FloorTransfer>.fromOpaque(context).takeUnretainedValue()
            transfer.body.append(UnsafeRawPointer(bytes).assumingMemoryBound(to: UInt8.self), count: size * count)
            return size * count
        }
    }

    func begin(in multi: OpaquePointer) {
        body = Data(capacity: Goods.responseBytes.count)
        curlrt_multi_add(multi, easy)
    }

    static func finished(_ easy: OpaquePointer, _ code: Int32, in multi: OpaquePointer) throws -> FloorTransfer {
        guard code == 0, let context = curlrt_easy_private(easy) else { throw BenchFailure("libcurl says \(code)") }
        curlrt_multi_remove(multi, easy)
        return Unmanaged<FloorTransfer>.fromOpaque(context).takeUnretainedValue()
    }
}
#endif

/// Bare URLSession, configured only to be comparable: no cache, no cookies.
struct URLSessionLoop: RequestLoop {
    private let session: URLSession
    private let url: URL
    private let isAsync: Bool
    private let decoder = JSONDecoder()

    init(_ url: URL, isAsync: Bool) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.httpCookieStorage = nil
        configuration.httpMaximumConnectionsPerHost = Connections.limit
        session = URLSession(configuration: configuration)
        self.url = url
        self.isAsync = isAsync
    }

    func run(requests: Int, concurrency: Int) async throws {
        if isAsync {
            try await Countdown(requests).share(among: concurrency) { [session, url, decoder] in
                let (body, _) = try await session.data(for: URLRequest(url: url))
                try Goods.check(body, decoder)
            }
        } else {
            try await withCheckedThrowingContinuation { continuation in
                let chain = Chain(session, url, decoder, requests) { continuation.resume(with: $0) }
                for _ in 0..<min(concurrency, requests) { chain.next() }
            }
        }
    }
}

/// Requests that begin in the completion handlers of others.
private final class Chain: Sendable {
    private let session: URLSession
    private let url: URL
    private let decoder: JSONDecoder
    private let toBegin: Countdown
    private let toEnd: Lock<Int>
    private let ended: @Sendable (Result<Void, any Error>) -> Void

    init(
        _ session: URLSession,
        _ url: URL,
        _ decoder: JSONDecoder,
        _ requests: Int,
        ended: @escaping @Sendable (Result<Void, any Error>) -> Void
    ) {
        self.session = session
        self.url = url
        self.decoder = decoder
        toBegin = Countdown(requests)
        toEnd = Lock(requests)
        self.ended = ended
    }

    func next() {
        guard toBegin.take() else { return }
        session.dataTask(with: URLRequest(url: url)) { [self] body, _, error in
            let result = Result {
                if let error { throw error }
                try Goods.check(body ?? Data(), decoder)
            }
            took(result)
        }.resume()
    }

    private func took(_ result: Result<Void, any Error>) {
        let rest = toEnd.withLock { rest in
            rest = if case .success = result { rest - 1 } else { min(rest, 0) - 1 }
            return rest
        }
        if case .failure = result { return rest == -1 ? ended(result) : () }
        rest == 0 ? ended(result) : next()
    }
}

/// A number of requests that several tasks execute.
final class Countdown: Sendable {
    private let rest: Atomic<Int>

    init(_ count: Int) {
        rest = Atomic(count)
    }

    /// Takes one request, and returns whether one was left.
    func take() -> Bool {
        rest.subtract(1, ordering: .relaxed).oldValue > 0
    }

    /// Calls `work` once for each request, in this many concurrent tasks.
    func share(among tasks: Int, _ work: @escaping @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<tasks {
                group.addTask { while self.take() { try await work() } }
            }
            try await group.waitForAll()
        }
    }
}

/// The number of connections that each compared client may open: at least the bench's requests in flight, so that none
/// of them waits in a queue.
enum Connections {
    /// The number of connections.
    static let limit = 512

    /// The limits of a proxy that admits as many requests.
    static let limits = QueueLimits(perHost: limit, total: limit)

    /// Creates a transport that may open this many connections.
    static func transport() throws -> any HTTPTransport {
        var configuration = TransportConfiguration()
        configuration.connectionsPerHost = limit
        configuration.connections = limit
        return try SystemTransport(configuration)
    }
}
