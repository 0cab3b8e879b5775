import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor
@Suite("The list of what is under way", .hangLimit, .timeLimit(.minutes(10)))
struct ActiveRequestTests {
    private let clock = ManualClock()
    private let transport: ScriptedTransport
    private let proxy: APIProxy

    init() {
        transport = ScriptedTransport()
        proxy = APIProxy(service: .sample(), transport: transport, clock: clock)
    }

    @Test func `A stream is listed with its progress and its rate, which falls while nothing arrives`() async throws {
        let (parts, server) = AsyncStream<Data>.makeStream()
        transport.on(.get, "/events") { _ in .stream { parts } }
        let request = LineStream(proxy: proxy)
        request.loadData()
        #expect(proxy.activeRequests.first?.progress == nil)
        for count in 1...4 {
            server.yield(Data(count: 1_000))
            await suspend(while: proxy.activeRequests.first?.progress?.completedBytes != Int64(count) * 1_000)
            if count == 1 { #expect(proxy.activeRequests.first?.bytesPerSecond == nil) }
            if count < 4 { clock.advance(by: .seconds(1)) }
        }
        let active = try #require(proxy.activeRequests.first)
        #expect(active.kind == .stream)
        #expect(!active.isQueued)
        #expect(active.bytesPerSecond == 1_000)
        clock.advance(by: .seconds(4))
        #expect(proxy.activeRequests.first?.bytesPerSecond == 200)
        request.cancelAllRequests()
        #expect(proxy.activeRequests.isEmpty)
    }

    @Test func `Each kind is listed, of requests and of plain calls`() async throws {
        let folder = try TemporaryFolder()
        let gate = Latch()
        for method in [HTTPMethod.get, .post] {
            transport.on(method, "/goods") { _ in
                try await gate.wait()
                return .status(500)
            }
        }
        let data = GoodsRequest(proxy: proxy)
        data.path = "/goods"
        data.loadData()
        let file = folder.url.appending(path: "sent")
        try Data("sent".utf8).write(to: file)
        let form = UploadSample(proxy: proxy)
        form.customSerializer = .multipart
        form.loadData()
        let raw = RequestSerializer.raw(.file(file), contentType: "text/plain")
        let upload = APIRequest<Void>("/goods", method: .post, requestSerializer: raw, proxy: proxy)
        upload.loadData()
        let download = DownloadRequest(proxy: proxy)
        (download.method, download.path, download.target) = (.get, "/goods", .folder(folder.url))
        download.loadData()
        let service = APIService.sample()
        var plain = HTTPRequest(.get, URL("/goods"))
        plain.destination = .file(folder.url.appending(path: "received"))
        let calls = [plain, HTTPRequest(.post, URL("/goods"), body: .file(file)), HTTPRequest(.get, URL("/goods"))].map
        {
            call in Task { [proxy] in try? await proxy.send(call, to: service) }
        }
        await suspend(while: proxy.activeRequests.count < 7 || proxy.activeRequests.contains(where: \.isQueued))
        let kinds = proxy.activeRequests.map(\.kind)
        #expect(kinds[..<4] == [.data, .upload, .upload, .download])
        #expect(Set(kinds[4...]) == [.download, .upload, .data])
        gate.open()
        proxy.cancelAllRequests()
        for call in calls { _ = await call.value }
    }

    @Test(arguments: TransportKind.allCases)
    func `A download and an upload are listed with their progress, though nobody else asks for it`(
        _ kind: TransportKind
    )
        async throws
    {
        let folder = try TemporaryFolder()
        let gate = Gate()
        let server = try FixtureServer.start { request in
            let body = [UInt8](repeating: 7, count: 50_000)
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
            return .script(.write(head), .write(body), .pass(gate), .write(body))
        }
        let proxy = APIProxy(service: .sample { $0.baseURL = server.baseURL }, transport: try kind.make())
        let download = DownloadRequest(proxy: proxy)
        (download.method, download.path, download.target) = (.get, "/file", .folder(folder.url))
        let id = download.loadData()
        await suspend(while: proxy.activeRequests.first?.progress?.completedBytes != 50_000)
        let progress = try #require(proxy.activeRequests.first?.progress)
        #expect(progress == TransferProgress(.download, completedBytes: 50_000, totalBytes: 100_000))
        #expect(download.progress == nil)
        gate.open()
        #expect(try await download.ending(of: id).get() is DownloadedFile)
        #expect(proxy.activeRequests.isEmpty)
    }
}

private final class UploadSample: SampleRequest, APIManager {
    typealias Response = [Goods]
    override func appendParts(to form: inout MultipartForm) { form.append(Data("text".utf8), name: "a") }
}
