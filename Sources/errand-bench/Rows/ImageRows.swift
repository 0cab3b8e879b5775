import Errand
import ErrandImages
import ErrandTesting
import ErrandUI
import Foundation

/// Images: many callers of one URL, a scroll with reuse, a hit in memory, and the probe of a header.
@MainActor struct ImageCosts: Workload {
    func run(_ order: Order) async throws -> Measurement {
        var result: Measurement = [.callers: Double(order.requests)]
        result[.fetches] = try await fetches(ofCallers: order.requests)
        result[.wrong] = try await wrongImages(inCells: order.concurrency)
        result[.hit] = try await hit(order.bytes)
        result[.probe] = try probe(order.bytes)
        return result
    }

    /// A picture of its own width for each number.
    private static func loader() -> ImageLoader<ImageContent> {
        var service = Scripted.service
        service.envelope = nil
        let transport = ScriptedTransport(keepsRequests: false) { request in
            let number = Int(request.url.lastPathComponent) ?? 0
            return HTTPResponse(status: 200, headers: ["Content-Type": "image/png"], body: PNG(width: number + 1).data)
        }
        let proxy = APIProxy(service: service, transport: transport)
        return ImageLoader(proxy: proxy, decoder: ImageDecoder(bytes: \.data.count) { content, _ in content })
    }

    private static func request(_ number: Int) throws -> ImageRequest {
        guard let url = URL(string: "/pictures/\(number)") else { throw BenchFailure("no URL") }
        return ImageRequest(url)
    }

    private func fetches(ofCallers count: Int) async throws -> Double {
        let (loader, request) = (Self.loader(), try Self.request(7))
        var received = 0
        await withCheckedContinuation { continuation in
            for _ in 0..<count {
                loader.load(request) { result in
                    if (try? result.get())?.header.width == 8 { received += 1 }
                    if received == count { continuation.resume() }
                }
            }
        }
        return Double(loader.fetchCount)
    }

    /// Shows pictures in cells that are used again, some of which lose interest; returns how many are wrong, or were loaded
    /// although no cell and no prefetch was for them.
    private func wrongImages(inCells count: Int) async throws -> Double {
        let loader = Self.loader()
        let cells = (0..<12).map { _ in Cell() }
        var (random, first, prefetched) = (SystemRandomNumberGenerator(), 0, ImageReceipt?.none)
        for _ in 0..<count / cells.count {
            first = max(0, first + .random(in: -4...12, using: &random))
            for (offset, cell) in cells.enumerated() { try cell.show(first + offset, from: loader) }
            prefetched?.cancel()
            prefetched = loader.prefetch(try (0..<6).map { try Self.request(first + cells.count + $0) })
            if .random(using: &random) { cells.randomElement()?.cancel() }
            for _ in 0..<Int.random(in: 0...40, using: &random) { await Task.yield() }
            if loader.proxy.activeRequests.count > loader.maxConcurrentLoads { throw BenchFailure("too many loads") }
        }
        prefetched?.cancel()
        for (offset, cell) in cells.enumerated() { try cell.show(first + offset, from: loader) }
        while cells.contains(where: { $0.shown == nil }) { await Task.yield() }
        // What nobody waits for is not loaded.
        let isIdle = loader.proxy.activeRequests.isEmpty
        return Double(cells.reduce(0) { $0 + $1.wrong } + (isIdle ? 0 : 1))
    }

    /// The CPU time to find an image in memory with an async call.
    private func hit(_ count: Int) async throws -> Double {
        let loader = Self.loader()
        let requests = try (0..<64).map(Self.request)
        for request in requests { _ = try await loader.image(for: request) }
        let meter = Meter()
        for index in 0..<count { _ = try await loader.image(for: requests[index % 64]) }
        guard loader.hitCount == count else { throw BenchFailure("the images are not in memory") }
        return meter.cpuSeconds / Double(count)
    }

    /// The CPU time of the slowest format on 64 KiB of many short parts.
    private func probe(_ count: Int) throws -> Double {
        let segment = [0xFF, 0xE2, 0x03, 0xFE] + [UInt8](repeating: 0, count: 1_020)
        let size: [UInt8] = [0xFF, 0xC0, 0, 17, 8, 0, 48, 0, 64, 3] + [UInt8](repeating: 0, count: 9)
        let jpeg = [0xFF, 0xD8] + Array(repeatElement(segment, count: 63).joined()) + size
        let comments = Array(repeatElement(PNG.chunk("tEXt", [UInt8](repeating: 65, count: 1_012)), count: 63).joined())
        return try [jpeg, Array(PNG(width: 64, others: comments).data)].map { bytes in
            let meter = Meter()
            for _ in 0..<count {
                let probe = try bytes.withUnsafeBytes { bytes in Result { try ImageHeader.probe(bytes) } }.get()
                guard case .header(let header) = probe, header.width == 64 else { throw BenchFailure("no header") }
            }
            return meter.cpuSeconds / Double(count)
        }.max() ?? .nan
    }
}

/// A cell of a list, which is used again for other pictures.
@MainActor private final class Cell {
    private(set) var shown: Int?
    private(set) var wrong = 0
    private var wanted: Int?
    private let slot = ImageSlot<ImageContent>()

    func show(_ number: Int, from loader: ImageLoader<ImageContent>) throws {
        guard let url = URL(string: "/pictures/\(number)") else { throw BenchFailure("no URL") }
        wanted = number
        slot.show(ImageRequest(url), from: loader) { [weak self] content in self?.show(content) }
    }

    private func show(_ content: ImageSlotContent<ImageContent>) {
        shown = if case .image(let image, _) = content { image.header.width - 1 } else { nil }
        if let shown, shown != wanted { wrong += 1 }
    }

    func cancel() {
        slot.cancel()
        (wanted, shown) = (nil, nil)
    }
}

/// As much of a picture as its header needs.
private struct PNG {
    let data: Data

    init(width: Int, others: [UInt8] = []) {
        let size = [UInt8](withUnsafeBytes(of: UInt32(width).bigEndian, Array.init)) + [0, 0, 0, 48]
        let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        let header = Self.chunk("IHDR", size + [8, 2, 0, 0, 0])
        data = Data(signature + header + others + Self.chunk("IDAT", []) + Self.chunk("IEND", []))
    }

    static func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
        let covered = Array(type.utf8) + content
        let checksum = ~covered.reduce(UInt32.max) { checksum, byte in
            (0..<8).reduce(checksum ^ UInt32(byte)) { value, _ in value >> 1 ^ (value & 1) * 0xEDB8_8320 }
        }
        return withUnsafeBytes(of: UInt32(content.count).bigEndian, Array.init) + covered
            + withUnsafeBytes(of: checksum.bigEndian, Array.init)
    }
}
