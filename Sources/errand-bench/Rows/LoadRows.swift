import Errand
import ErrandTesting
import Foundation

/// Loads over a transport that responds at once; the memory is measured after the first tenth and at the end.
@MainActor struct ScriptedLoads: Workload {
    private let service: APIService
    private let monitors: [any APIMonitor]
    private let network = ScriptedTransport(keepsRequests: false) { _ in Scripted.nothing }

    init(_ service: APIService = Scripted.service, monitors: [any APIMonitor] = []) {
        (self.service, self.monitors) = (service, monitors)
    }

    func run(_ order: Order) async throws -> Measurement {
        let proxy = APIProxy(service: service, transport: network, monitors: monitors)
        let loop = LoadLoop(order.concurrency) { NothingRequest(delegate: $0, proxy: proxy) }
        let first = max(1, order.requests / 10)
        try await loop.run(first)
        let rest = max(1, order.requests - first)
        let (meter, memory) = (Meter(), Memory.now)
        try await loop.run(rest)
        let fields = meter.measurement(of: rest)
        return [
            .loads: Double(order.requests), .cpuPerLoad: fields[.cpuPerRequest] ?? .nan,
            .loadsGrowth: Memory.now - memory, .requestRate: fields[.requestRate] ?? .nan, .peakMemory: Memory.peak,
        ]
    }
}

/// Loads requests again and again, each of them when its last load has ended.
@MainActor final class LoadLoop<Request: APIManager>: APIManagerCallbackDelegate {
    private(set) var requests: [Request] = []
    private var toBegin = 0
    private var toEnd = 0
    private var continuation: CheckedContinuation<Void, any Error>?

    init(_ count: Int, _ makeRequest: (any APIManagerCallbackDelegate) -> Request) {
        requests = (0..<count).map { _ in makeRequest(self) }
    }

    /// Returns when this many loads have ended.
    func run(_ count: Int) async throws {
        (toBegin, toEnd) = (count, count)
        try await withCheckedThrowingContinuation { continuation in
            self.continuation = continuation
            for request in requests { loadNext(request) }
        }
    }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        toEnd -= 1
        guard toEnd > 0 else { return end() }
        loadNext(request as? Request)
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) { end(throwing: error) }

    private func loadNext(_ request: Request?) {
        guard toBegin > 0 else { return }
        toBegin -= 1
        request?.loadData()
    }

    private func end(throwing error: (any Error)? = nil) {
        toBegin = 0
        continuation?.resume(with: error.map { .failure($0) } ?? .success(()))
        continuation = nil
    }
}

/// Many requests through the layer; the resources in use are measured after the first tenth and at the end.
struct Soak: Workload {
    let loop: LayerLoop

    func run(_ order: Order) async throws -> Measurement {
        let first = max(1, order.requests / 10)
        try await loop.run(requests: first, concurrency: order.concurrency)
        let (threads, descriptors) = (Census.threads, Census.descriptors)
        let rest = max(1, order.requests - first)
        let meter = Meter()
        try await loop.run(requests: rest, concurrency: order.concurrency)
        return meter.measurement(of: rest).merging([
            .requests: Double(order.requests), .threads: Double(Census.threads),
            .threadsGrowth: Double(Census.threads - threads), .descriptors: Double(Census.descriptors),
            .descriptorsGrowth: Double(Census.descriptors - descriptors),
        ]) { $1 }
    }
}

/// The numbers of threads and descriptors of this process.
private enum Census {
    /// The number of threads.
    static var threads: Int { entries("/proc/self/task") }
    /// The number of open descriptors.
    static var descriptors: Int { entries("/proc/self/fd") }

    private static func entries(_ path: String) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: path).count) ?? 0
    }
}

/// Requests that wait for the server, each on a new connection.
struct Idling: Workload {
    private static let requests = 10

    let url: URL

    func run(_ order: Order) async throws -> Measurement {
        // The first exchange starts threads and loads libraries, which is not to be measured.
        _ = try await APIProxy().send(HTTPRequest(.get, url))
        let proxy = APIProxy()
        let request = HTTPRequest(.get, url.appending(path: "wait"))
        let meter = Meter()
        try await Countdown(Self.requests).share(among: Self.requests) { _ = try await proxy.send(request) }
        return [.requests: Double(Self.requests), .coreUse: meter.cpuSeconds / meter.seconds]
    }
}

/// An upload of one large file.
struct Upload: Workload {
    let url: URL

    func run(_ order: Order) async throws -> Measurement {
        let file = try TransferFile()
        try file.fill(order.bytes)
        var request = HTTPRequest(.put, url.appending(path: "upload"), body: .file(file.url))
        request.timeout = nil
        return try await Transfer(bytes: order.bytes).run(request)
    }
}

/// A download of one large file.
struct Download: Workload {
    let url: URL

    func run(_ order: Order) async throws -> Measurement {
        let file = try TransferFile()
        var parts = URLComponents(url: url.appending(path: "bytes"), resolvingAgainstBaseURL: false)
        parts?.query = String(order.bytes)
        guard let target = parts?.url else { throw BenchFailure("no URL") }
        var request = HTTPRequest(.get, target)
        request.timeout = nil
        request.destination = .file(file.url)
        let measurement = try await Transfer(bytes: order.bytes).run(request)
        guard try file.size == order.bytes else { throw BenchFailure("the download is not whole") }
        return measurement
    }
}

/// Measures a request after another one has opened the connection and loaded the code.
private struct Transfer {
    let bytes: Int

    func run(_ request: HTTPRequest) async throws -> Measurement {
        let proxy = APIProxy()
        _ = try await proxy.send(HTTPRequest(.get, request.url.deletingLastPathComponent()))
        let meter = Meter()
        guard try await proxy.send(request).isSuccess else { throw BenchFailure("the server refused the file") }
        return meter.measurement(ofBytes: bytes)
    }
}

/// A file that is removed when this object is released.
private final class TransferFile {
    let url = FileManager.default.temporaryDirectory.appending(path: "errand-bench-\(UUID().uuidString)")

    init() throws {
        try Data().write(to: url)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    var size: Int {
        get throws { try url.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0 }
    }

    /// Fills the file with zeros, which take no space on most disks, and reads them once to exclude the disk.
    func fill(_ bytes: Int) throws {
        let file = try FileHandle(forUpdating: url)
        try file.truncate(atOffset: UInt64(bytes))
        try file.seek(toOffset: 0)
        while let piece = try file.read(upToCount: 1 << 20), !piece.isEmpty {}
    }
}
