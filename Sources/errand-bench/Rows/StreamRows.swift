import Errand
import FixtureServer
import Foundation

/// Events of 100 bytes: parsed, delivered to a delegate, and the cost of streams that wait for one.
@MainActor struct EventStreams: Workload {
    nonisolated static let path = "/events"
    /// 100 bytes with its empty line.
    private nonisolated static let event = "data: \(String(repeating: "x", count: 92))\n\n"

    let url: URL

    /// As many events as the query says, and then the end; or one event, and then none.
    nonisolated static func response(_ count: String?) -> Response {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
        guard let count = count.flatMap({ Int64($0) }) else {
            return .script(.write(head + "\r\n" + event), .hang)
        }
        let block = [UInt8](String(repeating: event, count: 1_000).utf8)
        let length = count * Int64(event.utf8.count)
        let source = ByteSource.generated(length: length) { range in
            let start = Int(range.lowerBound) % block.count
            return (0..<range.count).map { block[(start + $0) % block.count] }
        }
        return .stream(source, headers: ["Content-Type": "text/event-stream"])
    }

    func run(_ order: Order) async throws -> Measurement {
        var result: Measurement = [.byteRate: try parse(bytes: order.bytes)]
        result.merge(try await deliver(order.requests)) { $1 }
        result.merge(try await keepOpen(order.concurrency)) { $1 }
        return result
    }

    private func parse(bytes: Int) throws -> Double {
        let part = [UInt8](String(repeating: Self.event, count: 655).utf8)
        let parts = bytes / part.count
        var (parser, events) = (ServerSentEventParser(limit: 1 << 20), [ServerSentEvent]())
        let meter = Meter()
        for _ in 0..<parts {
            try part.withUnsafeBytes { try parser.parse($0) { events.append($0) } }
            guard events.count == 655 else { throw BenchFailure("events are missing") }
            events.removeAll(keepingCapacity: true)
        }
        return Double(parts * part.count) / meter.seconds
    }

    private func deliver(_ count: Int) async throws -> Measurement {
        let counter = EventCounter()
        let request = EventRequest(delegate: counter, proxy: APIProxy(service: APIService(baseURL: url)))
        let meter = Meter()
        try await request.value(params: ["count": count])
        guard counter.events == count else { throw BenchFailure("\(counter.events) of \(count) events were delivered") }
        return [.cpuPerEvent: meter.cpuSeconds / Double(count), .memoryGrowth: meter.peakGrowth]
    }

    private func keepOpen(_ count: Int) async throws -> Measurement {
        var configuration = TransportConfiguration()
        (configuration.connections, configuration.connectionsPerHost) = (count, count)
        let transport = try SystemTransport(configuration)
        let limits = QueueLimits(perHost: count, total: count)
        let proxy = APIProxy(service: APIService(baseURL: url), transport: transport, queueLimits: limits)
        // Threads, and what a first load makes.
        try await open(1, on: proxy)
        let before = Memory.now
        let requests = try await open(count, on: proxy)
        let perStream = (Memory.now - before) / Double(count)
        // After the work of opening them.
        try await Task.sleep(for: .seconds(2))
        let meter = Meter()
        try await Task.sleep(for: .seconds(2))
        let use = meter.cpuSeconds / meter.seconds
        for request in requests { request.cancelAllRequests() }
        return [.openStreams: Double(requests.count), .memoryPerStream: perStream, .coreUse: use]
    }

    /// Returns when each stream has its event.
    @discardableResult private func open(_ count: Int, on proxy: APIProxy) async throws -> [EventRequest] {
        let counter = EventCounter()
        let requests = (0..<count).map { _ in EventRequest(delegate: counter, proxy: proxy) }
        for request in requests { request.loadData() }
        while counter.events < count {
            guard counter.failure == nil else {
                throw BenchFailure("a stream has ended: \(counter.failure?.reason ?? "")")
            }
            try await Task.sleep(for: .milliseconds(10))
        }
        return requests
    }
}

private final class EventRequest: StreamAPIRequest<ServerSentEvent>, APIManager {
    let path = EventStreams.path
    let method = HTTPMethod.get
    override var timeout: Duration? { .seconds(600) }
    override var maxElements: Int { 0 }
    override var strategy: StreamStrategy<ServerSentEvent>? {
        var strategy = StreamStrategy.events
        strategy.reconnects = false
        return strategy
    }
}

@MainActor private final class EventCounter: APIManagerCallbackDelegate {
    var events = 0
    var failure: APIError?

    func managerCallAPIDidReceiveElements(_ request: BaseAPIRequest) {
        events += (request as? EventRequest)?.newElements.count ?? 0
    }
    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {}
    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) { failure = error }
}
