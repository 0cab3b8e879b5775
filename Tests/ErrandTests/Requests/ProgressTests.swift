import ErrandTesting
import FixtureServer
import Foundation
import Observation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor
@Suite(
    "The progress of a load is observable and passed to its caller",
    .limitedConcurrency,
    .hangLimit,
    .timeLimit(.minutes(10))
)
struct ProgressTests {
    private final class Upload: SampleRequest, APIManager {
        typealias Response = Void
        override var requestSerializer: RequestSerializer { .multipart }
        override func appendParts(to form: inout MultipartForm) {
            form.append(Data(count: 1_000_000), name: "picture", filename: "a.bin")
        }
    }

    private let screen = Screen()

    private func proxy(_ kind: TransportKind, _ server: FixtureServer) throws -> APIProxy {
        APIProxy(service: .sample { $0.baseURL = server.baseURL }, transport: try kind.make())
    }

    private func check(
        _ reports: [TransferProgress],
        _ direction: TransferProgress.Direction,
        total: ClosedRange<Int64>
    ) {
        let counts = reports.filter { $0.direction == direction }.map(\.completedBytes)
        #expect(counts == counts.sorted() && counts.last.map(total.contains) == true, "\(counts)")
        for report in reports where report.direction == direction {
            #expect(report.totalBytes.map(total.contains) == true && report.fractionCompleted != nil)
        }
    }

    @Test func `A load that sends nothing has no progress of an earlier load`() async {
        let transport = ScriptedTransport()
        let request = GoodsRequest(delegate: screen, proxy: APIProxy(fake: transport))
        request.ownOptions.reportsProgress = true
        request.loadData()
        #expect(await screen.ending() == .success)
        #expect(request.progress != nil)
        request.loadIfNeeded(maxAge: .seconds(60))
        #expect(request.progress == nil)
        #expect(await screen.ending() == .success)
        #expect(request.progress == nil && transport.requests.count == 1)
    }

    @Test(arguments: TransportKind.allCases)
    func `A download reports progress to value, to the delegate and to observers`(_ kind: TransportKind) async throws {
        let gate = Gate()
        let server = try FixtureServer.start { _ in
            .script(
                .write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfirst"),
                .pass(gate),
                .write("other"),
                .close
            )
        }
        let request = DataRequest(delegate: screen, proxy: try proxy(kind, server))
        (request.method, request.ownOptions.reportsProgress) = (.get, true)
        var (reports, changes): ([TransferProgress], Int) = ([], 0)
        withObservationTracking {
            _ = request.progress
        } onChange: {
            MainActor.assumeIsolated { changes += 1 }
        }
        let value = Task { try await request.value { reports.append($0) } }
        await suspend(while: reports.isEmpty)
        #expect(changes == 1 && request.progress?.completedBytes == 5 && request.progress?.totalBytes == 10)
        gate.open()
        #expect(try await value.value == Data("firstother".utf8))
        check(reports, .download, total: 10...10)
        #expect(request.progress == reports.last && screen.progress == reports)
        server.stop()
    }

    @Test(arguments: TransportKind.allCases)
    func `The body of a redirect is no progress`(_ kind: TransportKind) async throws {
        let server = try FixtureServer.start { request in
            request.path == "/target"
                ? .text("the target")
                : .text("the body of the redirect", status: 302, headers: ["Location": "/target"])
        }
        let request = DataRequest(delegate: screen, proxy: try proxy(kind, server))
        (request.method, request.ownOptions.reportsProgress) = (.get, true)
        #expect(try await request.value() == Data("the target".utf8))
        check(screen.progress, .download, total: 10...10)
        server.stop()
    }

    @Test func `The body of a failure is no progress of a download, except for a status that is accepted`() async throws
    {
        let server = try FixtureServer.start { _ in .text("no such file", status: 404) }
        let folder = try TemporaryFolder()
        for accepts in [false, true] {
            let request = APIRequest<DownloadedFile>(
                "/file",
                destination: .file(folder.file),
                options: .init(acceptedStatuses: accepts ? [404] : []),
                proxy: try proxy(.allCases.last ?? .urlSession, server)
            )
            var reports: [TransferProgress] = []
            let file = try? await request.value { reports.append($0) }
            #expect((file != nil) == accepts && reports.isEmpty != accepts)
        }
        server.stop()
    }

    @Test func `The progress of an older load does not replace that of the newest`() async throws {
        let gate = Gate()
        let server = try FixtureServer.start { request in
            let isOld = request.path == "/old"
            let head = "HTTP/1.1 200 OK\r\nContent-Length: \(isOld ? 20 : 10)\r\n\r\n"
            return isOld
                ? .script(.pass(gate), .write(head + "older"), .pass(Gate()))
                : .script(.write(head + "newer"), .pass(Gate()))
        }
        let request = DataRequest(delegate: screen, proxy: try proxy(TransportKind.allCases[0], server))
        (request.method, request.ownOptions.reportsProgress, request.customRestartPolicy) = (.get, true, .concurrent)
        request.path = "/old"
        request.loadData()
        request.path = "/new"
        request.loadData()
        await suspend(while: request.progress == nil)
        gate.open()
        await suspend(while: !screen.progress.contains { $0.totalBytes == 20 })
        #expect(request.progress?.totalBytes == 10, "the delegate receives both")
        request.cancelAllRequests()
        server.stop()
    }

    @Test(arguments: TransportKind.allCases)
    func `An upload reports progress to value, to the delegate and to observers`(_ kind: TransportKind) async throws {
        let gate = Gate()
        // After the whole body, so that the newest report is that of its end.
        let server = try FixtureServer.start { _ in
            .script(.pass(gate), .write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), .close)
        }
        let request = Upload(delegate: screen, proxy: try proxy(kind, server))
        request.ownOptions.reportsProgress = true
        var (reports, changes): ([TransferProgress], Int) = ([], 0)
        withObservationTracking {
            _ = request.progress
        } onChange: {
            MainActor.assumeIsolated { changes += 1 }
        }
        let value = Task { try await request.value { reports.append($0) } }
        await suspend(while: reports.last?.fractionCompleted != 1)
        #expect(changes == 1 && request.progress == reports.last)
        gate.open()
        try await value.value
        // With the headers of the part.
        check(reports, .upload, total: 1_000_000...1_001_000)
        #expect(request.progress == reports.last && screen.progress == reports)
        server.stop()
    }

    /// Why a request is sent again.
    enum Cause: CaseIterable, Sendable {
        case retry, relogin
    }

    @Test(arguments: TransportKind.allCases, Cause.allCases)
    func `Progress has the try that it is of`(_ kind: TransportKind, _ cause: Cause) async throws {
        let (count, account) = (Counter(), Account())
        // The retry policy sends twice again, a relogin once.
        let tries = cause == .retry ? 3 : 2
        let server = try FixtureServer.start { _ in
            count.next() % tries == 0 ? .text("done") : .status(cause == .retry ? 503 : 401)
        }
        let proxy = try proxy(kind, server)
        proxy.defaultService?.reloginHandler = account
        proxy.defaultService?.retryPolicy = RetryPolicy()
        proxy.defaultService?.retryPolicy.baseDelay = .zero
        let request = Upload(delegate: screen, proxy: proxy)
        (request.method, request.ownOptions.reportsProgress) = (.put, true)
        var newest: [TransferProgress] = []
        try await request.value { newest.append($0) }
        #expect(newest.map(\.attempt) == newest.map(\.attempt).sorted())
        #expect(newest.last { $0.direction == .upload }?.attempt == tries && screen.progress == newest)
        // All reports, without those that newer ones replace on their way to the main actor.
        let all = Lock<[TransferProgress]>([])
        var put = HTTPRequest(.put, URL("/goods"))
        put.body = HTTPBody([.data(Data(count: 1_000_000))])
        _ = try await proxy.send(put, to: try #require(proxy.defaultService)) { report in
            all.withLock { $0.append(report) }
        }
        let uploads = all.withLock { $0 }.filter { $0.direction == .upload }
        #expect(uploads.map(\.attempt) == uploads.map(\.attempt).sorted() && uploads.last?.attempt == tries)
        for attempt in 1...tries {
            check(uploads.filter { $0.attempt == attempt }, .upload, total: 1_000_000...1_000_000)
        }
        server.stop()
    }
}
