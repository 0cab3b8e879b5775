import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

/// A server of one file, whose next responses a test may replace or cut.
final class FileServer: Sendable {
    enum Ending { case close, hang }

    struct Representation: Sendable {
        var source = ByteSource.counting(FileServer.length)
        var etag: String? = "\"1\""
        var headers: HeaderLines = [:]
    }

    static let length: Int64 = 300_000

    private final class Script: Sendable {
        struct State {
            var representation = Representation()
            var cuts: [(Int64, Ending)] = []
            var replies: [Response] = []
        }

        let state = Lock(State())
    }

    let server: FixtureServer
    private let script: Script

    init() throws {
        let script = Script()
        self.script = script
        server = try FixtureServer.start { request in
            let (file, cut, reply) = script.state.withLock { state in
                let reply = state.replies.isEmpty ? nil : state.replies.removeFirst()
                let cut = reply != nil || state.cuts.isEmpty ? nil : state.cuts.removeFirst()
                return (state.representation, cut, reply)
            }
            if let reply { return reply }
            let whole = Response.representation(of: file.source, etag: file.etag, headers: file.headers, to: request)
            guard let cut else { return whole }
            return Response(
                steps: whole.steps.flatMap { step -> [Response.Step] in
                    guard case .stream(let source, let range) = step else { return [step] }
                    let part = Response.Step.stream(source, range.lowerBound..<range.lowerBound + cut.0)
                    return [part, cut.1 == .close ? .close : .hang]
                }
            )
        }
    }

    /// Ends the next response after this many bytes of its body.
    func cutNext(after bytes: Int64, _ ending: Ending = .close) {
        script.state.withLock { $0.cuts.append((bytes, ending)) }
    }
    func reply(_ response: Response) { script.state.withLock { $0.replies.append(response) } }
    func change(_ change: @Sendable (inout Representation) -> Void) {
        script.state.withLock { change(&$0.representation) }
    }

    var ranges: [String?] { server.requests.map { $0.header("Range") } }
}

@MainActor
@Suite("A download that continues", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct ResumedDownloadTests {
    private let folder: TemporaryFolder
    private let files: FileServer
    private var target: URL { folder.url.appending(path: "photo.jpg") }
    private static let names = [".photo.jpg.errand-part1", ".photo.jpg.errand-part1.json"]
    private nonisolated static let content = Data.counting(Int(FileServer.length))

    init() throws {
        folder = try TemporaryFolder()
        files = try FileServer()
    }

    private func request(
        _ kind: TransportKind = .allCases.last ?? .urlSession,
        from server: FixtureServer? = nil,
        wordsErrors: Bool = false,
        _ change: (inout APIService) -> Void = { _ in }
    ) throws -> DownloadRequest {
        let service = APIService.sample { service in
            service.baseURL = (server ?? files.server).baseURL
            change(&service)
        }
        let system = try kind.make()
        let transport = wordsErrors ? WordingTransport(system: system) : system
        let request = DownloadRequest(proxy: APIProxy(service: service, transport: transport))
        (request.method, request.path, request.target) = (.get, "/photo", .file(target))
        request.ownOptions.resumesDownload = true
        return request
    }

    private func outcome(_ request: DownloadRequest) async -> APIErrorType? {
        do throws(APIError) {
            _ = try await request.value()
            return nil
        } catch {
            return error.type
        }
    }

    @Test func `A 416 to a request of everything is its failure`() async throws {
        for _ in 1...2 { files.reply(.status(416)) }
        #expect(await outcome(try request()) == .http)
        #expect(files.ranges == [nil])
    }

    /// Begins a load, of which 100,000 bytes arrive, and no more.
    @discardableResult private func begin(_ request: DownloadRequest, for screen: Screen) async -> RequestID {
        files.cutNext(after: 100_000, .hang)
        request.delegate = screen
        let id = request.loadData()
        await suspend(while: DownloadedFile.partialProgress(of: target)?.completedBytes != 100_000)
        return id
    }

    private func expectComplete(_ content: Data = content, sourceLocation: SourceLocation = #_sourceLocation) throws {
        #expect(try Data(contentsOf: target) == content, sourceLocation: sourceLocation)
        #expect(try folder.names == ["photo.jpg"], sourceLocation: sourceLocation)
    }

    @Test(arguments: [65_536, 1_000])
    func `Its retries are those without progress`(_ bytes: Int64) async throws {
        for _ in 0..<4 { files.cutNext(after: bytes) }
        let request = try request {
            $0.retryPolicy = RetryPolicy()
            $0.retryPolicy.baseDelay = .zero
        }
        // The first bytes are progress, too, of however few there are.
        #expect(await outcome(request) == (bytes == 1_000 ? .transport : nil))
        #expect(files.ranges.count == (bytes == 1_000 ? 3 : 5))
        if bytes != 1_000 { try expectComplete() }
    }

    @Test func `A retry after progress takes nothing from the budget`() async throws {
        for _ in 0..<3 { files.cutNext(after: 70_000) }
        let request = try request {
            $0.retryPolicy = RetryPolicy()
            $0.retryPolicy.baseDelay = .zero
            ($0.retryPolicy.budget, $0.retryPolicy.minRetriesPerMinute) = (0, 0)
        }
        #expect(await outcome(request) == nil)
        try expectComplete()
    }

    @Test func `A download that begins again makes progress a few times, and then only beyond where it has been`()
        async throws
    {
        // Nothing says that a part is one of the same file.
        files.change { $0.etag = nil }
        for _ in 0..<7 { for bytes: Int64 in [70_000, 140_000] { files.cutNext(after: bytes) } }
        let request = try request {
            $0.retryPolicy = RetryPolicy()
            $0.retryPolicy.baseDelay = .zero
        }
        #expect(await outcome(request) == .transport)
        #expect(files.ranges.count == 10)
    }

    @Test func `What is to replace a private file is private from its first byte on`() async throws {
        try Data("old".utf8).write(to: target)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: target.path)
        files.cutNext(after: 100_000)
        #expect(await outcome(try request()) == .transport)
        let part = folder.url.appending(path: ".photo.jpg.errand-part1").path
        #expect(try FileManager.default.attributesOfItem(atPath: part)[.posixPermissions] as? Int == 0o600)
    }

    @Test(arguments: ["3", "*"]) func `A 206 with everything is as good as a 200`(_ length: String) async throws {
        let headers = "ETag: \"1\"\r\nContent-Length: 3\r\nContent-Range: bytes 0-2/\(length)\r\n\r\n"
        files.reply(.script(.write("HTTP/1.1 206 Partial Content\r\n" + headers + "abc")))
        #expect(await outcome(try request()) == nil)
        #expect(files.ranges == [nil])
        try expectComplete(Data("abc".utf8))
    }

    @Test(arguments: TransportKind.allCases)
    func `The cookies of a download that is cut are stored`(_ kind: TransportKind) async throws {
        files.change { $0.headers = ["Set-Cookie": "sid=new; Path=/"] }
        files.cutNext(after: 100_000)
        let cookies = CookieJar(trustworthyLoopback: true)
        let request = try request(kind) { $0.cookies = cookies }
        #expect(await outcome(request) == .transport)
        #expect(cookies.cookies.map(\.value) == ["new"])
        #expect(await outcome(request) == nil)
        #expect(files.server.requests.last?.header("Cookie") == "sid=new")
        try expectComplete()
    }

    // MARK: The rest

    @Test(arguments: TransportKind.allCases, [1, 150_000, FileServer.length - 1])
    func `After a lost connection, the next load requests the rest`(_ kind: TransportKind, _ cut: Int64) async throws {
        files.cutNext(after: cut)
        #expect(await outcome(try request(kind)) == .transport)
        #expect(try folder.names == Self.names)
        let stored = TransferProgress(.download, completedBytes: cut, totalBytes: FileServer.length)
        #expect(DownloadedFile.partialProgress(of: target) == stored)
        var reports: [TransferProgress] = []
        let file = try await request(kind).value { reports.append($0) }
        #expect(file.url == target)
        try expectComplete()
        #expect(files.ranges == [nil, "bytes=\(cut)-"])
        #expect(files.server.requests.last?.header("If-Range") == "\"1\"")
        #expect(files.server.requests.allSatisfy { $0.header("Accept-Encoding") == "identity" })
        #expect(reports.last?.completedBytes == FileServer.length)
        #expect(reports.allSatisfy { $0.completedBytes > cut && $0.totalBytes == FileServer.length })
        #expect(DownloadedFile.partialProgress(of: target) == nil)
    }

    @Test func `A query that adapters make anew for each request is no other file`() async throws {
        let signature = Counter()
        let change = { (service: inout APIService) in
            service.adapters.params = [Adapter { params, _ in params = ["sign": signature.next()] }]
        }
        files.cutNext(after: 150_000)
        #expect(await outcome(try request(.curl, change)) == .transport)
        _ = try await request(.curl, change).value()
        try expectComplete()
        #expect(files.ranges == [nil, "bytes=150000-"])
        #expect(Set(files.server.requests.map(\.target)).count == 2)
    }

    @Test func `A path that needs a parameter of an adapter is one of what is requested`() async throws {
        let request = try request(.curl) { service in
            service.adapters.params = [Adapter { params, _ in params = ["token": "t"] }]
        }
        request.path = "/{token}/photo"
        _ = try await request.value()
        try expectComplete()
    }

    @Test func `A transport that returns the body in memory reports its progress`() async throws {
        let transport = ScriptedTransport { _ in HTTPResponse(status: 200, body: Self.content) }
        let request = DownloadRequest(proxy: APIProxy(fake: transport))
        (request.method, request.path, request.target) = (.get, "/photo", .file(target))
        request.ownOptions.resumesDownload = true
        var reports: [TransferProgress] = []
        _ = try await request.value { reports.append($0) }
        try expectComplete()
        #expect(reports.last?.completedBytes == FileServer.length)
    }

    @Test func `A validator that cannot be sent back is none`() async throws {
        files.change { $0.etag = "\"a\u{7F}\"" }
        files.cutNext(after: 150_000)
        #expect(await outcome(try request()) == .transport)
        _ = try await request().value()
        try expectComplete()
        #expect(files.ranges == [nil, nil])
    }

    @Test func `The body of a failure is no progress of the file`() async throws {
        files.cutNext(after: 150_000)
        #expect(await outcome(try request()) == .transport)
        files.reply(.text(String(repeating: "x", count: 300), status: 400))
        var reports: [TransferProgress] = []
        let failing = try request()
        let error = await #expect(throws: APIError.self) { try await failing.value { reports.append($0) } }
        #expect(error?.status == 400 && reports.isEmpty)
        #expect(DownloadedFile.partialProgress(of: target)?.completedBytes == 150_000)
    }

    @Test(arguments: TransportKind.allCases) func `After a cancel, the same request continues`(_ kind: TransportKind)
        async throws
    {
        let (request, screen) = (try request(kind), Screen())
        let id = await begin(request, for: screen)
        request.proxy.cancelRequest(id)
        #expect(await screen.ending() == .cancelled)
        request.loadAgain()
        #expect(await screen.ending() == .success)
        try expectComplete()
        #expect(files.ranges == [nil, "bytes=100000-"])
    }

    @Test(.fault(118), arguments: [true, false])
    func `A download is paused by its ID only if it can be continued`(_ canContinue: Bool) async throws {
        if !canContinue { files.change { $0.etag = "W/\"1\"" } }
        files.cutNext(after: 100_000, .hang)
        let (request, screen) = (try request(), Screen())
        request.delegate = screen
        let id = request.loadData()
        let proxy = request.proxy
        await suspend(while: proxy.activeRequests.first?.progress?.completedBytes != 100_000)
        #expect(proxy.activeRequests.first?.canPause == canContinue)
        #expect(proxy.pauseRequest(id) == canContinue)
        #expect(proxy.activeRequests.isEmpty == canContinue)
        if !canContinue { proxy.cancelRequest(id) }
        #expect(!proxy.pauseRequest(id))
        #expect(await screen.ending() == .cancelled)
        #expect(request.loadAgain() != nil)
        #expect(await screen.ending() == .success)
        try expectComplete()
        #expect(files.ranges == [nil, canContinue ? "bytes=100000-" : nil])
    }

    @Test func `Loads that cannot be continued are not paused, and one that waits is`() async throws {
        let service = APIService.sample { $0.baseURL = files.server.baseURL }
        let proxy = APIProxy(service: service, queueLimits: QueueLimits(perHost: 1))
        files.cutNext(after: 1_000, .hang)
        let requests = (0..<3).map { number in
            let request = DownloadRequest(proxy: proxy)
            (request.method, request.path) = (.get, "/photo")
            request.target = .file(folder.url.appending(path: "\(number)"))
            request.ownOptions.resumesDownload = number == 2
            return request
        }
        let ids = requests.map { $0.loadData() }
        #expect(ids.map(proxy.pauseRequest) == [false, false, true])
        #expect(proxy.activeRequests.map(\.id) == Array(ids[..<2]))
        proxy.cancelAllRequests()
        for request in requests { await request.waitUntilIdle() }
    }

    @Test func `A load that replaces another of the same request continues at once`() async throws {
        let (request, screen) = (try request(), Screen())
        await begin(request, for: screen)
        request.loadData()
        // The former load ends once its file is closed, on another thread.
        #expect(await screen.endings(2).sorted { "\($0)" < "\($1)" } == [.cancelled, .success])
        try expectComplete()
        #expect(files.ranges == [nil, "bytes=100000-"])
    }

    @Test func `A retry within a load continues as well`() async throws {
        for cut in [50_000, 100_000] as [Int64] { files.cutNext(after: cut) }
        let request = try request { service in
            service.retryPolicy = RetryPolicy()
            service.retryPolicy.baseDelay = .zero
        }
        _ = try await request.value()
        try expectComplete()
        #expect(files.ranges == [nil, "bytes=50000-", "bytes=150000-"])
    }

    @Test func `A strong date is a validator, and one of the second of the response is not`() async throws {
        for (modified, isStrong) in [("Fri, 01 Jan 2021 00:00:00 GMT", true), ("Fri, 01 Jan 2021 00:00:09 GMT", false)]
        {
            let dates: HeaderLines = ["Last-Modified": modified, "Date": "Fri, 01 Jan 2021 00:00:09 GMT"]
            files.change { ($0.etag, $0.headers) = (nil, dates) }
            files.cutNext(after: 1_000)
            #expect(await outcome(try request()) == .transport)
            #expect(DownloadedFile.partialProgress(of: target)?.completedBytes == (isStrong ? 1_000 : nil))
            DownloadedFile.removePartialFile(of: target)
            #expect(try folder.names == [])
        }
    }

    @Test func `A redirect to another origin is asked for the rest`() async throws {
        let front = try FixtureServer.start { [files] _ in .redirect(to: files.server.url("/photo").absoluteString) }
        files.cutNext(after: 1_000)
        #expect(await outcome(try request(from: front)) == .transport)
        var reports: [TransferProgress] = []
        _ = try await request(from: front).value { reports.append($0) }
        try expectComplete()
        #expect(files.ranges == [nil, "bytes=1000-"])
        #expect(reports.last?.completedBytes == FileServer.length)
    }

    /// A server that redirects one request after the other to these paths, and all further ones to the last.
    private func redirector(to paths: [String]) throws -> FixtureServer {
        let requests = Counter()
        return try FixtureServer.start { [files] _ in
            .redirect(to: files.server.url(paths[min(requests.next(), paths.count) - 1]).absoluteString)
        }
    }

    @Test(.fault(110)) func `A redirect to another file with the same validator receives that from its beginning`()
        async throws
    {
        let front = try redirector(to: ["/files/1?signature=1", "/files/1?signature=2", "/files/2"])
        files.cutNext(after: 1_000)
        #expect(await outcome(try request(from: front)) == .transport)
        files.cutNext(after: 1_000)
        #expect(await outcome(try request(from: front)) == .transport)
        let other = [UInt8](repeating: 9, count: Int(FileServer.length))
        files.change { $0.source = .bytes(other) }
        #expect(await outcome(try request(from: front)) == nil)
        try expectComplete(Data(other))
        #expect(files.ranges == [nil, "bytes=1000-", nil])
    }

    @Test func `A server that sends the rest unasked, of another file, is asked again`() async throws {
        let front = try redirector(to: ["/files/1", "/files/2"])
        files.cutNext(after: 1_000)
        #expect(await outcome(try request(from: front)) == .transport)
        let rest = [UInt8](repeating: 9, count: Int(FileServer.length) - 1_000)
        let range = "bytes 1000-\(FileServer.length - 1)/\(FileServer.length)"
        files.reply(.bytes(rest, status: 206, headers: ["ETag": "\"1\"", "Content-Range": range]))
        #expect(await outcome(try request(from: front)) == nil)
        try expectComplete()
        #expect(files.ranges == [nil, nil, nil])
    }

    @Test func `A complete part whose target could not be replaced is checked by its last byte`() async throws {
        let request = try request()
        let validator = ValidatorSpy()
        request.validator = validator
        validator.acceptsContent = { [target] _ in
            try? FileManager.default.createDirectory(at: target, withIntermediateDirectories: false)
            return true
        }
        #expect(await outcome(request) == .storage)
        try FileManager.default.removeItem(at: target)
        validator.acceptsContent = { _ in true }
        #expect(await outcome(request) == nil)
        try expectComplete()
        #expect(files.ranges == [nil, "bytes=\(FileServer.length - 1)-"])
    }

    @Test(arguments: TransportKind.allCases)
    func `A download to a folder continues, and keeps the name of its first response`(_ kind: TransportKind)
        async throws
    {
        let named: HeaderLines = ["Content-Disposition": "attachment; filename=\"sea/beach.jpg\""]
        for (path, headers, name) in [("/photo", named, "beach.jpg"), ("/other", [:], "other")] {
            files.change { $0.headers = headers }
            files.cutNext(after: 100_000)
            let request = try request(kind)
            (request.path, request.target) = (path, .folder(folder.url))
            #expect(await outcome(request) == .transport)
            // RFC 9110 section 15.3.7: a response to If-Range need not repeat it.
            files.change { $0.headers = [:] }
            #expect(try await request.value().url == folder.url.appending(path: name))
            #expect(try Data(contentsOf: folder.url.appending(path: name)) == Self.content)
            // Another one does not replace it.
            #expect(try await request.value().url != folder.url.appending(path: name))
        }
        #expect(files.ranges == [nil, "bytes=100000-", nil, nil, "bytes=100000-", nil])
        #expect(try folder.names == ["beach.jpg", "other", "other 2", "photo"])
    }

    @Test func `Downloads of several URLs to one folder have a part each, and of one URL there is one`() async throws {
        let requests = try ["/photo", "/other", "/photo"].map { path in
            files.cutNext(after: 1_000, .hang)
            let request = try request()
            (request.path, request.target) = (path, .folder(folder.url))
            return request
        }
        let proxy = requests[0].proxy
        for request in requests[..<2] { request.loadData() }
        let sizes = { [folder] in
            let parts = try? folder.names.filter { $0.hasSuffix(".errand-part1") }.map {
                folder.url.appending(path: $0)
            }
            return parts?.map { try? $0.resourceValues(forKeys: [.fileSizeKey]).fileSize }
        }
        await suspend(while: sizes() != [1_000, 1_000])
        #expect(await outcome(requests[2]) == .storage)
        #expect(
            requests[2].error?.reason?.contains("another download of the same URL to its folder is running") == true
        )
        proxy.cancelAllRequests()
        requests[1].cancelAllRequests()
        for request in requests { await request.waitUntilIdle() }
        #expect(try folder.names.count == 4)
    }

    // MARK: Again from the beginning

    @Test(.fault(110), arguments: TransportKind.allCases) func `Another version is received as a whole`(
        _ kind: TransportKind
    )
        async throws
    {
        files.cutNext(after: 100_000)
        #expect(await outcome(try request(kind)) == .transport)
        let other = [UInt8](repeating: 9, count: 200_000)
        files.change { ($0.source, $0.etag) = (.bytes(other), "\"2\"") }
        #expect(await outcome(try request(kind)) == nil)
        try expectComplete(Data(other))
        #expect(files.ranges == [nil, "bytes=100000-"])
    }

    /// Responses to a request for the rest from 100,000 that do not continue it.
    enum Lie: CaseIterable, Sendable {
        case otherStart, otherLength, hugeLength, otherTag, noTag, noRange, severalParts, unsatisfiable, coded, unit,
            okay, shorter, shorterChunks

        fileprivate var response: Response {
            let (rest, length) = ([UInt8](repeating: 66, count: 200_000), FileServer.length)
            func part(_ range: String, _ headers: HeaderLines = ["ETag": "\"1\""]) -> Response {
                .bytes(rest, status: 206, headers: headers + ["Content-Range": range])
            }
            let range: HeaderLines = ["ETag": "\"1\"", "Content-Range": "bytes 100000-299999/\(length)"]
            return switch self {
            case .otherStart: part("bytes 99999-299998/\(length)")
            case .otherLength: part("bytes 100000-299999/300001")
            case .hugeLength: part("bytes 100000-299999/99999999999999999999")
            case .otherTag: part("bytes 100000-299999/\(length)", ["ETag": "\"2\""])
            // As of a server that ignores If-Range.
            case .noTag: part("bytes 100000-299999/\(length)", [:])
            case .noRange: .bytes(rest, status: 206)
            case .severalParts: .bytes(rest, status: 206, headers: ["Content-Type": "multipart/byteranges; boundary=a"])
            case .unsatisfiable: .status(416, headers: ["Content-Range": "bytes */\(length)"])
            case .coded:
                .gzip(rest, status: 206, headers: ["Content-Range": "bytes 100000-299999/\(length)", "ETag": "\"1\""])
            case .unit: part("items 100000-299999/\(length)")
            case .okay: .bytes(rest, headers: ["ETag": "\"1\"", "Content-Range": "bytes 99999-299998/\(length)"])
            case .shorter: .bytes(rest.dropLast(10), status: 206, headers: range)
            case .shorterChunks: .chunked([rest.dropLast(10)], status: 206, headers: range)
            }
        }
    }

    /// As an app's own, which uses the one of the system.
    private struct WordingTransport: HTTPTransport {
        let system: any HTTPTransport

        func send(
            _ request: HTTPRequest,
            progress: TransferProgress.Handler?
        ) async throws(TransportError) -> HTTPResponse {
            do throws(TransportError) {
                return try await system.send(request, progress: progress)
            } catch {
                throw TransportError(error.kind, "the gateway has failed")
            }
        }
    }

    @Test(.fault(56), .fault(111), arguments: Lie.allCases, [false, true])
    func `A part that does not continue the file is replaced by the whole`(_ lie: Lie, _ isWorded: Bool)
        async throws
    {
        files.cutNext(after: 100_000)
        let request = try request(wordsErrors: isWorded)
        #expect(await outcome(request) == .transport)
        files.reply(lie.response)
        #expect(await outcome(request) == nil)
        try expectComplete()
        #expect(files.ranges == [nil, "bytes=100000-", nil])
    }

    @Test func `The error of a load that may not begin once more names no adapter`() {
        let error = APIError(TransportError(.badResponse, "there is no rest").askingForRetry).withoutRequestedRetry
        #expect(error.reason == "there is no rest")
        #expect(error.requestedRetry == nil && error.underlying == nil)
    }

    @Test func `A part that ends early is lost, and the next load continues it`() async throws {
        files.cutNext(after: 100_000)
        let request = try request()
        #expect(await outcome(request) == .transport)
        let middle = Array(Self.content[100_000..<150_000])
        let lines: HeaderLines = ["Content-Range": "bytes 100000-149999/\(FileServer.length)", "ETag": "\"1\""]
        files.reply(.bytes(middle, status: 206, headers: lines))
        #expect(await outcome(request) == .transport)
        #expect(await outcome(request) == nil)
        try expectComplete()
        #expect(files.ranges == [nil, "bytes=100000-", "bytes=150000-"])
    }

    @Test func `A part that is longer than its range is replaced by the whole`()
        async throws
    {
        let lines: HeaderLines = ["Content-Range": "bytes 100000-149999/\(FileServer.length)", "ETag": "\"1\""]
        let wrong = [UInt8](repeating: 66, count: 100_000)
        files.cutNext(after: 100_000)
        let request = try request()
        #expect(await outcome(request) == .transport)
        files.reply(.bytes(Array(Self.content[100_000..<150_000]) + wrong, status: 206, headers: lines))
        #expect(await outcome(request) == nil)
        try expectComplete()
        #expect(files.ranges == [nil, "bytes=100000-", nil])
    }

    @Test func `A date need not be repeated with the rest, and a length beside a transfer coding does not count`()
        throws
    {
        let dates: HTTPHeaders = [
            "Last-Modified": "Fri, 01 Jan 2021 00:00:00 GMT", "Date": "Fri, 01 Jan 2021 00:00:09 GMT",
            "Content-Length": "9", "Transfer-Encoding": "chunked",
        ]
        let record = PartialRecord(dates, key: "", source: nil)
        #expect(record.length == nil)
        let range: HTTPHeaders = ["Content-Range": "bytes 3-5/9"]
        let part = try #require(record.part(range, from: 3))
        #expect(part == (9, 6))
        #expect(record.part(range.merging(["ETag": "\"1\""]), from: 3) == nil)
        #expect(record.part(range.merging(["Last-Modified": "Fri, 01 Jan 2021 00:00:01 GMT"]), from: 3) == nil)
    }

    @Test func `The lines of a part replace those of the service`() async throws {
        let request = try request { $0.commonHeaders = { ["Accept-Encoding": "gzip", "If-Range": "\"0\""] } }
        files.cutNext(after: 100_000)
        #expect(await outcome(request) == .transport)
        #expect(await outcome(request) == nil)
        #expect(files.server.requests.map { $0.header("Accept-Encoding") } == ["identity", "identity"])
        #expect(files.server.requests.last?.header("If-Range") == "\"1\"")
        try expectComplete()
    }

    @Test(.fault(110), arguments: ["weak", "none", "refused", "coded"])
    func `Nothing is kept of what cannot be continued`(_ reason: String) async throws {
        files.change { file in
            switch reason {
            case "weak": file.etag = "W/\"1\""
            case "none": file.etag = nil
            case "refused": file.headers = [:]
            default: file.headers = ["Content-Encoding": "gzip"]
            }
        }
        if reason == "refused" {
            let head = "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nAccept-Ranges: none\r\nContent-Length: 9\r\n\r\n"
            files.reply(.script(.write(head), .write("1234"), .close))
        } else if reason == "coded" {
            let head = "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Encoding: gzip\r\nContent-Length: 900\r\n\r\n"
            files.reply(.script(.write(head), .write(Array(Gzip.encode(Array("abc".utf8)).dropLast())), .close))
        } else {
            files.cutNext(after: 1_000)
        }
        #expect(await outcome(try request()) == .transport)
        #expect(try folder.names == [])
    }

    @Test(arguments: [404, 410]) func `A file that the server no longer has leaves nothing`(_ status: Int) async throws
    {
        files.cutNext(after: 1_000)
        let request = try request()
        #expect(await outcome(request) == .transport)
        files.reply(.status(status))
        #expect(await outcome(request) == .http)
        #expect(try folder.names == [])
    }

    @Test func `An error of the server keeps what there is`() async throws {
        files.cutNext(after: 1_000)
        let request = try request()
        #expect(await outcome(request) == .transport)
        files.reply(.text("busy", status: 503))
        #expect(await outcome(request) == .http)
        // Or dies before or inside its head.
        for steps in [[Response.Step.close], [.write(Array("HTTP/1.1 206 Partial".utf8)), .close]] {
            files.reply(Response(steps: steps))
            // On a new connection; libcurl repeats a request on one that was used before.
            #expect(await outcome(try self.request()) == .transport)
        }
        #expect(await outcome(request) == nil)
        try expectComplete()
        #expect(Set(files.ranges) == [nil, "bytes=1000-"])
    }

    @Test(arguments: [false, true], [false, true])
    func `JSON with a failing code keeps what there is, and the load continues after a relogin`(
        _ hasAdapter: Bool,
        _ isText: Bool
    ) async throws {
        func reply(_ json: String) { files.reply(isText ? .text(json) : .json(bytes: json.utf8)) }
        let adapters = Adapters(response: hasAdapter ? [Adapter { _, _ in }] : [])
        files.cutNext(after: 150_000)
        #expect(await outcome(try request()) == .transport)
        reply(#"{"errcode":5,"msg":"busy"}"#)
        #expect(await outcome(try request { $0.adapters = adapters }) == .server)
        reply(#"{"errcode":11010,"msg":"expired"}"#)
        let account = Account()
        var reports: [TransferProgress] = []
        _ = try await request { ($0.reloginHandler, $0.adapters) = (account, adapters) }.value { reports.append($0) }
        try expectComplete()
        #expect(account.logins == 1 && files.ranges == [nil] + Array(repeating: "bytes=150000-", count: 3))
        #expect(reports.allSatisfy { $0.completedBytes > 150_000 && $0.totalBytes == FileServer.length })
    }

    @Test func `A failing code that an adapter corrects does not make the part the file`() async throws {
        files.cutNext(after: 150_000)
        #expect(await outcome(try request()) == .transport)
        let parts = try folder.names
        files.reply(.json(bytes: #"{"errcode":5,"msg":"busy"}"#.utf8))
        let proxy = try request {
            $0.adapters.response = [Adapter { response, _ in response.body = Data(#"{"errcode":200,"data":1}"#.utf8) }]
        }.proxy
        let request = CorrectedRequest(proxy: proxy)
        (request.method, request.path, request.target) = (.get, "/photo", target)
        request.ownOptions.resumesDownload = true
        #expect(try await request.value() == 24)
        #expect(try folder.names == parts)
        #expect(await outcome(try self.request()) == nil)
        try expectComplete()
    }

    @Test func `What a transport delivers after the end of a load does not change the record of the next one`()
        async throws
    {
        let headers = { (etag: String) -> HTTPHeaders in
            ["ETag": etag, "Content-Length": "9", "Content-Type": "image/jpeg"]
        }
        func open() async throws -> (PartialFile, HTTPHeaders) {
            let file = try PartialFile(for: .file(target), of: URL("https://shop.test/photo"), nil)
            return (file, try await file.open())
        }
        let (first, _) = try await open()
        #expect(try first.begin(status: 200, headers: headers("\"1\"")))
        try Data("abc".utf8).withUnsafeBytes { try first.receive($0) }
        first.discard(isRefused: false)
        let (late, former) = try await open()
        #expect(former["If-Range"] == "\"1\"")
        late.discard(isRefused: false)
        let (next, _) = try await open()
        #expect(try next.begin(status: 200, headers: headers("\"2\"")))
        try Data("xyz".utf8).withUnsafeBytes { try next.receive($0) }
        let part = headers("\"1\"").merging(["Content-Range": "bytes 3-8/9", "Content-Length": "6"])
        #expect(throws: TransportError.self) { try late.begin(status: 206, headers: part) }
        next.discard(isRefused: false)
        let (last, newest) = try await open()
        #expect(newest["If-Range"] == "\"2\"" && newest["Range"] == "bytes=3-")
        last.discard(isRefused: true)
        #expect(try folder.names.isEmpty)
    }

    @Test(arguments: [#"{"errcode":200,"data":[1]}"#, "a text"])
    func `JSON without a failing code, and other text, replaces the file`(_ text: String) async throws {
        files.cutNext(after: 150_000)
        #expect(await outcome(try request()) == .transport)
        files.reply(text.hasPrefix("{") ? .json(bytes: text.utf8) : .text(text))
        var reports: [TransferProgress] = []
        let file = try await request().value { reports.append($0) }
        #expect(try String(contentsOf: file.url, encoding: .utf8) == text)
        #expect(try folder.names == ["photo.jpg"])
        #expect(reports.last?.fractionCompleted == 1)
    }

    @Test(arguments: ["validator", "adapter", "page", "page without a length", "long page"])
    func `A short text that is refused in the place of the rest keeps what there is`(_ refusal: String) async throws {
        struct Refused: Error {}
        files.change { $0.headers = ["Content-Type": "audio/mpeg"] }
        files.cutNext(after: 150_000)
        #expect(await outcome(try request()) == .transport)
        let parts = try folder.names
        let refuses = Lock(true)
        let request = try request {
            guard refusal == "adapter" else { return }
            $0.adapters = Adapters(response: [Adapter { _, _ in if refuses.withLock(\.self) { throw Refused() } }])
        }
        let validator = ValidatorSpy()
        request.validator = validator
        validator.acceptsContent = { _ in refusal != "validator" || !refuses.withLock(\.self) }
        let (page, html) = (Array("<p>".utf8), ["Content-Type": "text/html"] as HeaderLines)
        switch refusal {
        case "page": files.reply(.bytes(page, headers: html))
        case "page without a length": files.reply(.chunked([page], headers: html))
        case "long page": files.reply(.bytes(Array(repeating: 0x20, count: 20_000), headers: html))
        default: files.reply(.text("busy"))
        }
        let types: [String: APIErrorType] = ["validator": .invalidResponse, "adapter": .decoding]
        #expect(await outcome(request) == types[refusal] ?? .transport)
        #expect(try folder.names == parts)
        refuses.withLock { $0 = false }
        #expect(await outcome(request) == nil)
        try expectComplete()
        #expect(files.ranges == [nil, "bytes=150000-", "bytes=150000-"])
    }

    @Test func `Long JSON replaces the part at once, whatever the limit of a body in memory, and can be continued`()
        async throws
    {
        files.cutNext(after: 150_000)
        #expect(await outcome(try request()) == .transport)
        files.change { ($0.etag, $0.headers) = ("\"2\"", ["Content-Type": "application/json"]) }
        files.cutNext(after: 100_000)
        let limited = try request { $0.limits.bodyBytes = 10_000 }
        #expect(await outcome(limited) == .transport)
        #expect(DownloadedFile.partialProgress(of: target)?.completedBytes == 100_000)
        #expect(await outcome(limited) == nil)
        try expectComplete()
    }

    @Test(.fault(114), .enabled(if: CookieProbe.isRoot, "only root can give files away"), arguments: [0, 1])
    func `What another user has planted is not continued, nor written to`(_ planted: Int) async throws {
        files.cutNext(after: 100_000)
        #expect(await outcome(try request()) == .transport)
        let part = folder.url.appending(path: Self.names[planted])
        try #require(chown(part.path, 65_534, 65_534) == 0)
        let descriptor = open(part.path, O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        #expect(await outcome(try request()) == nil)
        #expect(files.ranges == [nil, nil])
        try expectComplete()
        var (own, former) = (stat(), stat())
        try #require(stat(target.path, &own) == 0 && fstat(descriptor, &former) == 0)
        #expect(own.st_uid == geteuid())
        if planted == 0 { #expect(own.st_ino != former.st_ino && former.st_size == 100_000) }
    }

    @Test(.fault(114), arguments: ["replaced", "removed", "folder", "link"])
    func `What others do with the target and its folder meanwhile changes neither the part nor another file`(
        _ change: String
    ) async throws {
        let (request, screen) = (try request(), Screen())
        let manager = FileManager.default
        try Data("old".utf8).write(to: target)
        await begin(request, for: screen)
        request.cancelAllRequests()
        #expect(await screen.ending() == .cancelled)
        let elsewhere = try TemporaryFile(Data("other".utf8))
        try manager.removeItem(at: target)
        switch change {
        case "replaced": try Data("new".utf8).write(to: target)
        case "link": try manager.createSymbolicLink(at: target, withDestinationURL: elsewhere.url)
        case "folder": try manager.removeItem(at: folder.url)
        default: break
        }
        #expect(await outcome(request) == (change == "folder" ? .storage : nil))
        if change == "folder" {
            #expect(request.error?.reason?.hasPrefix("photo.jpg cannot be written (open: ") == true)
            try manager.createDirectory(at: folder.url, withIntermediateDirectories: false)
            #expect(await outcome(request) == nil)
        }
        try expectComplete()
        #expect(try Data(contentsOf: elsewhere.url) == Data("other".utf8))
    }

    @Test func `A response that the validator refuses leaves nothing`() async throws {
        let (request, validator) = (try request(), ValidatorSpy())
        request.validator = validator
        validator.acceptsContent = { _ in false }
        #expect(await outcome(request) == .invalidResponse)
        #expect(try folder.names == [])
    }

    // MARK: What is on the disk

    @Test(.fault(113)) func `A record with any byte changed or missing never leads to another file`() async throws {
        files.cutNext(after: 1_000)
        #expect(await outcome(try request()) == .transport)
        let paths = Self.names.map { folder.url.appending(path: $0) }
        let (part, record) = (try Data(contentsOf: paths[0]), try Data(contentsOf: paths[1]))
        let request = try request()
        for index in record.indices {
            var damaged = record
            switch index % 3 {
            case 0: damaged[index] ^= 1
            case 1: damaged.remove(at: index)
            default: damaged = damaged[..<index]
            }
            try part.write(to: paths[0])
            try damaged.write(to: paths[1])
            #expect(await outcome(request) == nil)
            try expectComplete()
        }
    }

    @Test(.fault(113))
    func `A file that was changed since is received again, and one of another start from what was on the disk`()
        async throws
    {
        files.cutNext(after: 100_000)
        #expect(await outcome(try request()) == .transport)
        let paths = Self.names.map { folder.url.appending(path: $0) }
        let part = try Data(contentsOf: paths[0])
        var record = try JSONDecoder().decode([String: JSONValue].self, from: Data(contentsOf: paths[1]))
        let request = try request()
        record["synced"] = 60_000
        let cases: [(size: Int, boot: String?, range: String?)] = [
            (100_000, nil, "bytes=100000-"), (59_999, nil, nil), (300_001, nil, nil),
            (100_000, "other", "bytes=60000-"),
        ]
        for (size, boot, range) in cases {
            if let boot { record["boot"] = .string(boot) }
            try (part + Data(count: 300_000)).prefix(size).write(to: paths[0])
            try JSONEncoder().encode(record).write(to: paths[1])
            #expect(await outcome(request) == nil)
            try expectComplete()
            #expect(files.ranges.last == range)
        }
    }

    @Test(.fault(113)) func `What several short loads have received is put on the disk as well`() async throws {
        files.change { $0.source = .counting(40 << 20) }
        files.cutNext(after: 10 << 20)
        #expect(await outcome(try request()) == .transport)
        // It stays open, because the end of a load overtakes what has not begun on the disk.
        files.cutNext(after: 10 << 20, .hang)
        let (request, screen) = (try request(), Screen())
        request.delegate = screen
        request.loadData()
        let path = folder.url.appending(path: Self.names[1])
        func synced() throws -> Int? {
            try JSONDecoder().decode([String: JSONValue].self, from: Data(contentsOf: path))["synced"]?.int
        }
        try await suspend(while: try synced() == 0)
        #expect(try #require(try synced()) >= 16 << 20)
        request.cancelAllRequests()
        #expect(await screen.ending() == .cancelled)
    }

    @Test func `Another URL starts again, and a long name is possible`() async throws {
        files.cutNext(after: 1_000)
        let request = try request()
        request.target = .file(folder.url.appending(path: String(repeating: "ä", count: 127)))
        #expect(await outcome(request) == .transport)
        request.path = "/other"
        #expect(await outcome(request) == nil)
        #expect(files.ranges == [nil, nil])
        #expect(try folder.names == [String(repeating: "ä", count: 127)])
    }

    @Test func `A part is one of the account whose jar the load has`() async throws {
        func outcome(_ jar: String) async throws -> APIErrorType? {
            let service = APIService.sample { $0.baseURL = files.server.baseURL }
            let jar = CookieJar(file: folder.url.appending(path: "jars/\(jar)"))
            let request = DownloadRequest(
                proxy: APIProxy(service: service, transport: try TransportKind.allCases[0].make(), cookies: jar)
            )
            (request.method, request.path, request.target) = (.get, "/photo", .file(target))
            request.ownOptions.resumesDownload = true
            return await self.outcome(request)
        }
        for _ in 0..<2 { files.cutNext(after: 1_000) }
        #expect(try await outcome("a") == .transport)
        #expect(try await outcome("a") == .transport)
        #expect(try await outcome("b") == nil)
        #expect(files.ranges == [nil, "bytes=1000-", nil])
        #expect(try Data(contentsOf: target) == Self.content)
    }

    @Test func `A part of another origin is not continued, whatever the hash of its URL`() async throws {
        files.cutNext(after: 1_000)
        #expect(await outcome(try request()) == .transport)
        let path = folder.url.appending(path: Self.names[1])
        var record = try JSONDecoder().decode([String: JSONValue].self, from: Data(contentsOf: path))
        let key = try #require(record["key"]?.string)
        let origin = files.server.baseURL.originText
        #expect(key.hasPrefix(origin + " "))
        record["key"] = .string("http://other.test" + key.dropFirst(origin.count))
        try JSONEncoder().encode(record).write(to: path)
        #expect(await outcome(try request()) == nil)
        #expect(files.ranges == [nil, nil])
        try expectComplete()
    }

    @Test func `A pipe in the place of a part or of its record blocks nothing`() async throws {
        for name in Self.names {
            try? FileManager.default.removeItem(at: target)
            for name in Self.names { try? FileManager.default.removeItem(at: folder.url.appending(path: name)) }
            if name != Self.names[0] { try Data("x".utf8).write(to: folder.url.appending(path: Self.names[0])) }
            #expect(mkfifo(folder.url.appending(path: name).path, 0o600) == 0)
            #expect(DownloadedFile.partialProgress(of: target) == nil)
            #expect(await outcome(try request()) == nil)
            try expectComplete()
        }
    }

    @Test func `Parts of a week ago and of other versions are removed, and no other file`() async throws {
        func make(_ name: String, daysAgo days: Double) throws {
            let url = folder.url.appending(path: name)
            try Data("x".utf8).write(to: url)
            let date = Date(timeIntervalSinceNow: -days * 86_400)
            try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: url.path)
        }
        try make(".a.errand-part1", daysAgo: 8)
        try make(".a.errand-part1.json", daysAgo: 8)
        try make(".b.errand-part1", daysAgo: 6)
        try make(".c.errand-part0", daysAgo: 0)
        // The clock was set back.
        try make(".f.errand-part1", daysAgo: -400)
        try make("d.errand-part1", daysAgo: 8)
        try make(".e", daysAgo: 8)
        #expect(await outcome(try request()) == nil)
        #expect(try folder.names == [".b.errand-part1", ".e", ".f.errand-part1", "d.errand-part1", "photo.jpg"])
    }

    @Test func `A deadline keeps what there is`() async throws {
        let (clock, screen) = (ManualClock(), Screen())
        let service = APIService.sample { $0.baseURL = files.server.baseURL }
        let proxy = APIProxy(service: service, transport: try TransportKind.allCases[0].make(), clock: clock)
        let request = DownloadRequest(proxy: proxy)
        (request.method, request.path, request.target) = (.get, "/photo", .file(target))
        request.ownOptions = APIRequestOptions(deadline: .seconds(5), resumesDownload: true)
        await begin(request, for: screen)
        await clock.waitForSleepers()
        clock.advance(by: .seconds(5))
        #expect(await screen.ending() == .failure(.timeout))
        #expect(DownloadedFile.partialProgress(of: target)?.completedBytes == 100_000)
    }

    @Test func `A transport that returns the body in memory is continued as well`() async throws {
        files.cutNext(after: 100_000)
        let path = files.server.url("/photo")
        #expect(await outcome(try request()) == .transport)
        let transport = ScriptedTransport { request in
            let lines: HTTPHeaders = ["ETag": "\"1\"", "Content-Range": "bytes 100000-299999/300000"]
            return request.headers["Range"] == "bytes=100000-"
                ? HTTPResponse(status: 206, headers: lines, body: Self.content[100_000...]) : .status(500)
        }
        let service = APIService.sample { $0.baseURL = files.server.baseURL }
        let rest = DownloadRequest(proxy: APIProxy(service: service, transport: transport))
        (rest.method, rest.path, rest.target) = (.get, path.path, .file(target))
        rest.ownOptions.resumesDownload = true
        #expect(await outcome(rest) == nil)
        try expectComplete()
    }

    @Test func `A part that is removed after a cancel is removed when the load has left it`() async throws {
        let (request, screen) = (try request(), Screen())
        await begin(request, for: screen)
        request.cancelAllRequests()
        DownloadedFile.removePartialFile(of: target)
        #expect(await screen.ending() == .cancelled)
        #expect(try folder.names == [])
    }

    @Test func `The parts of a folder are removed, those of running loads excepted`() async throws {
        files.cutNext(after: 1_000)
        #expect(await outcome(try request()) == .transport)
        files.cutNext(after: 1_000)
        let inFolder = try request()
        inFolder.target = .folder(folder.url)
        #expect(await outcome(inFolder) == .transport)
        #expect(try folder.names.count == 4)
        files.cutNext(after: 2_000, .hang)
        let running = try request()
        let id = running.loadData()
        await suspend(while: DownloadedFile.partialProgress(of: target)?.completedBytes != 3_000)
        DownloadedFile.removePartialFiles(in: folder.url)
        #expect(DownloadedFile.partialProgress(of: target)?.completedBytes == 3_000)
        #expect(try folder.names.count == 2)
        running.proxy.cancelRequest(id)
        DownloadedFile.removePartialFiles(in: folder.url)
        await suspend(while: (try? folder.names) != [])
    }

    @Test func `A complete part whose last byte does not arrive again is kept`() async throws {
        files.cutNext(after: 1_000)
        #expect(await outcome(try request()) == .transport)
        let paths = Self.names.map { folder.url.appending(path: $0) }
        var record = try JSONDecoder().decode([String: JSONValue].self, from: Data(contentsOf: paths[1]))
        record["synced"] = record["length"]
        try Self.content.write(to: paths[0])
        try JSONEncoder().encode(record).write(to: paths[1])
        for _ in 0..<2 {
            files.cutNext(after: 0)
            #expect(await outcome(try request()) == .transport)
            #expect(DownloadedFile.partialProgress(of: target)?.completedBytes == FileServer.length - 1)
        }
    }

    @Test func `A file without bytes is no part of one`() async throws {
        files.cutNext(after: 1_000)
        #expect(await outcome(try request()) == .transport)
        let paths = Self.names.map { folder.url.appending(path: $0) }
        var record = try JSONDecoder().decode([String: JSONValue].self, from: Data(contentsOf: paths[1]))
        record["length"] = 0
        try Data().write(to: paths[0])
        try JSONEncoder().encode(record).write(to: paths[1])
        #expect(DownloadedFile.partialProgress(of: target) == nil)
        #expect(await outcome(try request()) == nil)
        try expectComplete()
    }

    // MARK: One at a time

    @Test func `A second load to the file fails, and the first one goes on`() async throws {
        files.cutNext(after: 1_000, .hang)
        let first = try request()
        let id = first.loadData()
        await suspend(while: DownloadedFile.partialProgress(of: target)?.completedBytes != 1_000)
        let second = try request()
        await #expect(throws: APIError.self) { _ = try await second.value() }
        #expect(second.error?.type == .storage)
        #expect(second.error?.reason?.contains("another download to photo.jpg is running") == true)
        DownloadedFile.removePartialFile(of: target)
        #expect(DownloadedFile.partialProgress(of: target)?.completedBytes == 1_000)
        first.proxy.cancelRequest(id)
        #expect(await outcome(second) == nil)
        try expectComplete()
    }

    @Test func `So does one to a file whose part is about to be replaced`() async throws {
        files.cutNext(after: 150_000)
        #expect(await outcome(try request()) == .transport)
        let (reached, gate) = (Latch(), Latch())
        let first = try request {
            $0.adapters.response = [
                Adapter { _, _ in
                    reached.open()
                    try await gate.wait()
                }
            ]
        }
        files.reply(.text("a text"))
        first.loadData()
        try await reached.wait()
        let second = try request()
        #expect(await outcome(second) == .storage)
        #expect(second.error?.reason?.contains("another download to photo.jpg is running") == true)
        gate.open()
        await first.waitUntilIdle()
        #expect(first.error == nil && files.ranges == [nil, "bytes=150000-"])
        #expect(try folder.names == ["photo.jpg"])
    }

    @Test func `What cannot be continued is refused before it is sent`() async throws {
        let request = try request()
        request.method = .post
        #expect(await outcome(request) == .invalidRequest)
        (request.method, request.target) = (.get, .memory)
        #expect(await outcome(request) == .invalidRequest)
        (request.target, request.customHeaders) = (.file(target), ["Range": "bytes=1-"])
        #expect(await outcome(request) == .invalidRequest)
        #expect(files.server.totalRequests == 0)
        #expect(try folder.names == [])
    }
}

/// Reads a response whether it is in a file or not.
private final class CorrectedRequest: SampleRequest, APIManager {
    typealias Response = Int
    var target = URL(filePath: "/")

    override var destination: HTTPRequest.Destination { .file(target) }
    let responseSerializer = ResponseSerializer { response, _ in response.file == nil ? response.body.count : -1 }
}
