#if os(Linux)
import CurlRuntime
import Foundation

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
#else
import Foundation

/// The floor is not measured without libcurl.
struct FloorLoop: RequestLoop {
    init(_ url: URL, decodes: Bool) {}

    func run(requests: Int, concurrency: Int) async throws {
        throw BenchFailure("the floor is libcurl's, on Linux")
    }
}
#endif
