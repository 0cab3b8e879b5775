import Errand
import Foundation

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
