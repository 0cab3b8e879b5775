#if os(Linux)
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Progress", .limitedConcurrency, .timeLimit(.minutes(10)))
struct CurlProgressTests {
    /// Records progress.
    private final class Record: Sendable {
        private let reports = Lock<[TransferProgress]>([])

        var handler: TransferProgress.Handler {
            { [self] report in reports.withLock { $0.append(report) } }
        }

        func taken(_ direction: TransferProgress.Direction) -> [TransferProgress] {
            reports.withLock { $0.filter { $0.direction == direction } }
        }
    }

    private let transport: CurlTransport
    private let record = Record()

    init() throws {
        transport = try CurlTransport()
    }

    private func checkOrder(_ reports: [TransferProgress], total: Int64?) {
        let bytes = reports.map(\.completedBytes)
        #expect(bytes == bytes.sorted())
        #expect(Set(bytes).count == bytes.count)
        #expect(reports.allSatisfy { $0.totalBytes == total })
    }

    @Test func `An upload is reported to its last byte`() async throws {
        let server = try FixtureServer.start { _ in .text("ok") }
        let request = HTTPRequest(.post, server.url("/"), body: .data(Data(repeating: 1, count: 1_000_000)))
        _ = try await transport.send(request, progress: record.handler)
        let reports = record.taken(.upload)
        checkOrder(reports, total: 1_000_000)
        #expect(reports.count > 1)
        #expect(reports.last?.fractionCompleted == 1)
        #expect(record.taken(.download).last?.completedBytes == 2)
    }

    @Test func `A download is reported to its last byte, to memory and to a file`() async throws {
        let server = try FixtureServer.start { _ in .stream(.counting(1_000_000)) }
        let folder = try TemporaryFolder()
        let file = folder.url.appending(path: "download")
        for destination in [HTTPRequest.Destination.memory, .file(file)] {
            let record = Record()
            var request = HTTPRequest(.get, server.url("/"))
            request.destination = destination
            _ = try await transport.send(request, progress: record.handler)
            checkOrder(record.taken(.download), total: 1_000_000)
            #expect(record.taken(.download).last?.completedBytes == 1_000_000)
            #expect(record.taken(.upload).isEmpty)
        }
    }

    @Test func `The total of a chunked or coded response is unknown`() async throws {
        let body = Array(repeating: UInt8(42), count: 100_000)
        for response in [Response.chunked([body, body]), .gzip(body + body)] {
            let record = Record()
            let server = try FixtureServer.start { _ in response }
            _ = try await transport.send(HTTPRequest(.get, server.url("/")), progress: record.handler)
            checkOrder(record.taken(.download), total: nil)
            #expect(record.taken(.download).last?.completedBytes == 200_000)
        }
    }

    @Test func `Nothing is reported after the end`() async throws {
        let endless = Response(status: 200, steps: [.repeatForever(Array(repeating: 42, count: 1_000), every: .zero)])
        let server = try FixtureServer.start { _ in endless }
        let (moves, mover) = AsyncStream.makeStream(of: Void.self)
        let isOver = Lock(false)
        var request = HTTPRequest(.get, server.url("/"))
        request.limits.bodyBytes = .max
        let download = request
        let task = Task { [transport] in
            defer { isOver.withLock { $0 = true } }
            return try await transport.send(download) { _ in
                #expect(isOver.withLock { !$0 })
                mover.yield()
            }
        }
        for await _ in moves { break }
        task.cancel()
        _ = await task.result
        #expect(await server.waitForOpenConnections(0))
    }
}
#endif
