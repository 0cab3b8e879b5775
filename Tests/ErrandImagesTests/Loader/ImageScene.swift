import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandImages
@testable import ErrandTestSupport

/// The image of tests: its number is the width of the file.
struct Picture: Sendable, Hashable, CustomStringConvertible {
    var number: Int
    var target = ImageTarget.whole
    /// The processings that it has had.
    var processings: [String] = []

    var description: String {
        let size = target.width.map { " \($0)" } ?? ""
        return "\(number)\(size)\(processings.map { " " + $0 }.joined())"
    }
}

/// Files in PNG, which nothing decodes.
enum PNGFile {
    /// Returns a file of at least `size` bytes.
    static func bytes(_ width: Int, height: Int = 1, size: Int = 0) -> [UInt8] {
        let head = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + chunk("IHDR", header(width, height))
        let end = chunk("IEND", [])
        let content = [UInt8](repeating: 0x5A, count: max(10, size - head.count - end.count - 12))
        return head + chunk("IDAT", content) + end
    }

    /// The signature and IHDR, which has the size.
    static func beginning(_ width: Int, height: Int) -> [UInt8] { Array(bytes(width, height: height).prefix(33)) }

    static func data(_ width: Int, height: Int = 1, size: Int = 0) -> Data {
        Data(bytes(width, height: height, size: size))
    }

    private static func header(_ width: Int, _ height: Int) -> [UInt8] {
        bigEndian(width) + bigEndian(height) + [8, 2, 0, 0, 0]
    }

    private static func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
        let named = Array(type.utf8) + content
        return bigEndian(content.count) + named + bigEndian(checksum(named))
    }

    /// CRC-32 (ISO/IEC 15948, annex D).
    private static func checksum(_ bytes: [UInt8]) -> Int {
        let rest = bytes.reduce(UInt32.max) { $0 >> 8 ^ table[Int(UInt8(truncatingIfNeeded: $0) ^ $1)] }
        return Int(~rest)
    }

    private static let table = (0..<256 as Range<UInt32>).map { byte in
        (0..<8).reduce(byte) { rest, _ in rest >> 1 ^ (rest & 1) * 0xEDB8_8320 }
    }

    private static func bigEndian(_ number: Int) -> [UInt8] {
        withUnsafeBytes(of: UInt32(truncatingIfNeeded: number).bigEndian) { Array($0) }
    }
}

/// Counts decodings, and can hold them.
final class DecodingLog: Sendable {
    private let begun = Lock<[Picture]>([])
    private let ended = Lock(0)
    let checkpoint = Lock<Checkpoint?>(nil)

    var pictures: [Picture] { begun.withLock(\.self) }
    var count: Int { pictures.count }
    var endedCount: Int { ended.withLock { $0 } }

    /// An image takes `bytes` of memory.
    func decoder(bytes: Int) -> ImageDecoder<Picture> {
        ImageDecoder(bytes: { _ in bytes }) { [self] content, target in
            let picture = Picture(number: content.header.width, target: target)
            begun.withLock { $0.append(picture) }
            checkpoint.withLock(\.self)?.pass()
            ended.withLock { $0 += 1 }
            return picture
        }
    }
}

/// Responds to `/7.png` with an image of the width 7, at once or when the test says so.
final class ImageNetwork: Sendable {
    private struct State {
        private(set) var latches: [String: Latch] = [:]
        var isHolding = false

        mutating func latch(_ name: String) -> Latch {
            if let latch = latches[name] { return latch }
            let latch = Latch()
            latches[name] = latch
            return latch
        }
    }

    private let state: Lock<State>
    private let size: Int

    init(holds: Bool = false, size: Int = 0) {
        state = Lock(State(isHolding: holds))
        self.size = size
    }

    /// Holds the responses from now on.
    func hold() { state.withLock { $0.isHolding = true } }

    /// Lets the responses of this image through, also later ones.
    func release(_ number: Int) { release("\(number).png") }

    /// As ``release(_:)``, by the last segment of the path.
    func release(_ name: String) { latch(name).open() }

    func releaseAll() {
        let latches = state.withLock { state in
            state.isHolding = false
            return Array(state.latches.values)
        }
        for latch in latches { latch.open() }
    }

    @Sendable func respond(_ request: HTTPRequest) async throws -> HTTPResponse {
        let name = request.url.lastPathComponent
        try await state.withLock { $0.isHolding ? $0.latch(name) : nil }?.wait()
        return Self.response(name, size: size)
    }

    static func response(_ name: String, size: Int = 0, headers: HTTPHeaders = [:]) -> HTTPResponse {
        guard let number = Int(name.prefix { $0.isNumber }) else { return .json(#"{"errcode":200}"#) }
        return HTTPResponse(status: 200, headers: headers, body: PNGFile.data(number, size: size))
    }

    private func latch(_ name: String) -> Latch { state.withLock { $0.latch(name) } }
}

/// Receipts that the closures of their callers use.
@MainActor final class ImageReceipts {
    var all: [ImageReceipt] = []

    func cancel() { for receipt in all { receipt.cancel() } }
}

/// A loader, its network, and what its callers have received.
@MainActor final class ImageScene {
    let clock = ManualClock()
    let network: ImageNetwork
    let transport: ScriptedTransport
    let decodings = DecodingLog()
    let proxy: APIProxy
    var loader: ImageLoader<Picture>
    /// In the order of their endings, such as `a: image 7`.
    private(set) var endings: [String] = []
    /// Called in the closure of each caller.
    var onEnding: (@MainActor (String) -> Void)?

    /// The script is to use the network, if the test holds its responses.
    init(
        holds: Bool = false,
        network: ImageNetwork? = nil,
        places: Int = 4,
        order: ImageOrder = .firstInFirstOut,
        capacity: Int = 1000,
        options: APIRequestOptions = APIRequestOptions(),
        limits: ImageLimits = ImageLimits(),
        keepsRequests: Bool = true,
        cache: APICache? = nil,
        monitors: [any APIMonitor] = [],
        service: APIService = .sample(),
        processings: [String: @Sendable (Picture) throws -> Picture] = [:],
        script: ScriptedTransport.Script? = nil
    ) {
        let network = network ?? ImageNetwork(holds: holds)
        self.network = network
        transport = ScriptedTransport(keepsRequests: keepsRequests, fallback: script ?? network.respond)
        proxy = APIProxy(service: service, transport: transport, clock: clock, monitors: monitors, cache: cache)
        loader = ImageLoader(
            proxy: proxy,
            decoder: processings.reduce(decodings.decoder(bytes: 100)) { $0.processing($1.key, by: $1.value) },
            memoryCapacity: capacity,
            options: options,
            limits: limits,
            order: order,
            maxConcurrentLoads: places
        )
    }

    static func image(
        _ number: Int,
        _ width: Int? = nil,
        processing: String? = nil,
        policy: CachePolicy? = nil
    ) -> ImageRequest {
        let target = ImageTarget(width: width, processing: processing)
        return ImageRequest(URL("/\(number).png"), target: target, cachePolicy: policy)
    }

    /// Loads for a caller of this name; that of the number without one.
    @discardableResult func load(
        _ number: Int,
        _ name: String? = nil,
        width: Int? = nil,
        policy: CachePolicy? = nil,
        priority: RequestPriority = .normal
    ) -> ImageReceipt {
        load(Self.image(number, width, policy: policy), name ?? "\(number)", priority: priority)
    }

    @discardableResult func load(
        _ request: ImageRequest,
        _ name: String,
        priority: RequestPriority = .normal
    ) -> ImageReceipt {
        let hasReturned = Lock(false)
        let receipt = loader.load(request, priority: priority) { result in
            #expect(hasReturned.withLock { $0 })
            self.record(result, of: name)
        }
        hasReturned.withLock { $0 = true }
        return receipt
    }

    func prefetch(_ numbers: some Sequence<Int>) -> ImageReceipt { loader.prefetch(numbers.map { Self.image($0) }) }

    func record(_ result: Result<Picture, APIError>, of name: String) {
        MainActor.assertIsolated()
        endings.append("\(name): \(result.text)")
        onEnding?(name)
    }

    func removeEndings() { endings = [] }

    func end(_ count: Int) async { await suspend(while: endings.count < count) }

    /// Waits until nothing is under way.
    func settle() async {
        network.releaseAll()
        decodings.checkpoint.withLock(\.self)?.release()
        await suspend(
            while: !proxy.activeRequests.isEmpty || decodings.count > decodings.endedCount || proxy.delivery.count > 0
        )
        await sentinel(proxy)
    }

    /// The numbers of the requests, in the order in which they were sent.
    var sent: [Int] { transport.requests.compactMap { Int($0.url.deletingPathExtension().lastPathComponent) } }

    /// Waits until this many requests are at the server.
    func reach(_ count: Int) async { await transport.waitForRequests(count) }
}

extension Result<Picture, APIError> {
    /// Such as `image 7`, `http 404` or `decoding unknownFormat`.
    var text: String {
        switch self {
        case .success(let picture): "image \(picture)"
        case .failure(let error): error.text
        }
    }
}

extension APIError {
    /// Its type, its status without a code, and the case of an ``ImageError``.
    var text: String {
        let status = type == .http ? self.status.map { " \($0)" } : nil
        let image = (underlying as? ImageError).map { " " + "\(Self.name(of: $0))" }
        return "\(type)\(status ?? "")\(image ?? "")"
    }

    private static func name(of error: ImageError) -> String {
        switch error {
        case .unknownFormat: "unknownFormat"
        case .damaged: "damaged"
        case .truncated: "truncated"
        case .tooManyPixels: "tooManyPixels"
        case .tooManyBytes: "tooManyBytes"
        }
    }
}

extension ImageLoader {
    /// The image of a request or its error, as text.
    func outcome(of request: ImageRequest, priority: RequestPriority = .normal) async -> String
    where Image == Picture {
        do throws(APIError) {
            return Result.success(try await image(for: request, priority: priority)).text
        } catch {
            return error.text
        }
    }
}
