import Errand
import FixtureServer
import Foundation

/// Downloads whose process is killed at a random byte, and what a download that resumes costs beside a plain one.
@MainActor struct Resuming: Workload {
    /// The arguments of the process that is killed.
    static let command = "resume-client"
    /// Names the URL of a file on another server, which is downloaded by the processes that are killed; byte n of it is n mod 256.
    nonisolated static let variable = "ERRAND_RESUME_URL"

    let url: URL

    func run(_ order: Order) async throws -> Measurement {
        let server = try FixtureServer.start { request in
            .representation(of: .counting(Int64(order.bytes)), etag: "\"1\"", to: request)
        }
        defer { server.stop() }
        let other = ProcessInfo.processInfo.environment[Self.variable].flatMap { URL(string: $0) }
        let url = other ?? server.url("/file")
        let folder = FileManager.default.temporaryDirectory.appending(path: "errand-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "file")
        var (identical, mostResent) = (0, Int64(0))
        for _ in 0..<order.requests {
            let stored = try await killedDownload(
                of: url,
                to: file,
                at: .random(in: 1..<Int64(order.bytes))
            )
            let start = try await completeDownload(of: url, to: file)
            if try isCounting(file, length: order.bytes) { identical += 1 }
            // Nothing is resent of a download that was complete.
            if let stored { mostResent = max(mostResent, stored - start) }
            try FileManager.default.removeItem(at: file)
        }
        var result: Measurement = [
            .kills: Double(order.requests), .identical: Double(identical), .resent: Double(mostResent),
        ]
        for resumes in [false, true] {
            let (time, growth) = try await download(file, bytes: 4 * order.bytes, resumes: resumes)
            result[resumes ? .resumableTime : .plainTime] = time
            if resumes { result[.memoryGrowth] = growth }
        }
        return result
    }

    /// Returns how much was stored when the process had ended; `nil` when it was complete.
    private func killedDownload(of url: URL, to file: URL, at point: Int64) async throws -> Int64? {
        let child = try Child([Self.command, url.absoluteString, file.path])
        while DownloadedFile.partialProgress(of: file)?.completedBytes ?? 0 < point, child.isRunning {
            await Task.yield()
        }
        child.kill()
        return DownloadedFile.partialProgress(of: file)?.completedBytes
    }

    /// Returns where the response has begun.
    private func completeDownload(of url: URL, to file: URL) async throws -> Int64 {
        let response = try await Self.load(url, to: file, resumes: true)
        let range = response?.headers["Content-Range"]?.firstMatch(of: /bytes (\d+)-/)?.1
        return range.flatMap { Int64($0) } ?? 0
    }

    private func isCounting(_ file: URL, length: Int) throws -> Bool {
        let content = try Data(contentsOf: file, options: .alwaysMapped)
        guard content.count == length else { return false }
        return content.withUnsafeBytes { bytes in
            let words = bytes.bindMemory(to: UInt64.self)
            var expected = UInt64(littleEndian: 0x0706_0504_0302_0100)
            for word in words {
                guard word == expected else { return false }
                // Each byte by 8, without a carry to the next one.
                expected =
                    (expected & 0x7F7F_7F7F_7F7F_7F7F) &+ 0x0808_0808_0808_0808 ^ expected & 0x8080_8080_8080_8080
            }
            return true
        }
    }

    private func download(_ file: URL, bytes: Int, resumes: Bool) async throws -> (seconds: Double, growth: Double) {
        guard var parts = URLComponents(url: url.appending(path: "bytes"), resolvingAgainstBaseURL: false) else {
            throw BenchFailure("no URL")
        }
        parts.query = String(bytes)
        guard let target = parts.url else { throw BenchFailure("no URL") }
        var times: [Double] = []
        let before = Memory.now
        Memory.forgetPeak()
        for _ in 0..<3 {
            let meter = Meter()
            try await Self.load(target, to: file, resumes: resumes)
            times.append(meter.seconds)
            try FileManager.default.removeItem(at: file)
        }
        return (times.median, Memory.peak - before)
    }

    @discardableResult
    static func load(_ url: URL, to file: URL, resumes: Bool) async throws -> APIResponse? {
        let proxy = APIProxy(service: APIService(baseURL: url))
        let request = APIRequest<DownloadedFile>(
            url.absoluteString,
            destination: .file(file),
            options: APIRequestOptions(resumesDownload: resumes),
            proxy: proxy
        )
        _ = try await request.value()
        return request.rawResponse
    }

    /// The process that is killed.
    static func runClient(_ arguments: [String]) async throws {
        guard arguments.count == 2, let url = URL(string: arguments[0]) else { throw BenchFailure("no URL") }
        try await load(url, to: URL(filePath: arguments[1]), resumes: true)
    }
}
