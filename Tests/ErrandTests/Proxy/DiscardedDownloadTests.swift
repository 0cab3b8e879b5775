import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

/// Downloads that end without their file, which is removed before.
@MainActor
@Suite("A download that fails ends when its file is removed", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct DiscardedDownloadTests {
    /// Why a load fails whose file is there still.
    enum Reason: CaseIterable, Sendable {
        case deadline, refusal

        var type: APIErrorType { self == .deadline ? .timeout : .invalidResponse }
    }

    private let screen = Screen()
    private let clock = ManualClock()
    private let validator = ValidatorSpy()
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try Data("old".utf8).write(to: folder.file)
    }

    /// Responds with a file, or never.
    private func transport(_ reason: Reason) -> ScriptedTransport {
        let never = Latch()
        return ScriptedTransport { _ in
            if reason == .deadline { try await never.wait() }
            return HTTPResponse(status: 200, headers: ["ETag": "\"1\""], body: Data("new".utf8))
        }
    }

    /// A download with a deadline of five seconds.
    private func request(
        _ transport: any HTTPTransport,
        _ service: APIService = .sample(),
        resumes: Bool = false
    ) -> DownloadRequest {
        let proxy = APIProxy(service: service, transport: transport, clock: clock)
        let request = DownloadRequest(delegate: screen, proxy: proxy)
        (request.method, request.target, request.validator) = (.get, .file(folder.file), validator)
        request.ownOptions = APIRequestOptions(deadline: .seconds(5), resumesDownload: resumes)
        return request
    }

    private func passDeadline() async {
        await clock.waitForSleepers()
        clock.advance(by: .seconds(5))
    }

    @Test(.fault(93), arguments: Reason.allCases, [false, true])
    func `It ends once, as before, and has left nothing`(_ reason: Reason, _ resumes: Bool) async {
        let transport = transport(reason)
        let request = request(transport, resumes: resumes)
        let witness = DownloadScene.Witness(folder)
        validator.acceptsContent = { _ in false }
        request.loadData(indicator: witness)
        if reason == .deadline {
            await transport.waitForRequests()
            await passDeadline()
        }
        #expect(await screen.ending() == .failure(reason.type))
        await sentinel(request.proxy)
        #expect(screen.events.count == 1)
        #expect(witness.seen == [["cookies.txt": "old"]])
        #expect(request.error?.response?.file == nil && request.rawResponse?.file == nil)
        #expect(request.proxy.activeRequests.isEmpty)
    }

    @Test(.fault(93), .fault(118), .blocksThread, arguments: Reason.allCases, [false, true])
    func `It ends once, when its file is removed, and as cancelled if it was cancelled meanwhile`(
        _ reason: Reason,
        _ isCancelled: Bool
    ) async throws {
        let transport = transport(reason)
        let request = request(transport)
        let (file, witness) = (try HeldFile(for: folder.file), DownloadScene.Witness(folder))
        validator.acceptsContent = { request in
            if let id = request.loads.last { _ = request.proxy.loads.setFile(file, of: id) }
            return false
        }
        let id = request.loadData(indicator: witness)
        let work = request.proxy.loads.tasks.first
        if reason == .deadline {
            await transport.waitForRequests()
            #expect(request.proxy.loads.setFile(file, of: id))
            await passDeadline()
        }
        await suspend(while: !file.checkpoint.isReached && screen.events.isEmpty)
        // The work that the deadline has cancelled ends meanwhile.
        await work?.value
        await sentinel(request.proxy)
        #expect(file.checkpoint.isReached, "not on the main thread")
        #expect(screen.events.isEmpty && request.isLoading)
        #expect(folder.contents.count == 2)
        if isCancelled { request.cancelAllRequests() }
        file.checkpoint.release()
        #expect(await screen.ending() == (isCancelled ? .cancelled : .failure(reason.type)))
        await sentinel(request.proxy)
        #expect(screen.events.count == 1)
        #expect(witness.seen == [["cookies.txt": "old"]])
        #expect(file.refusals.first == (reason == .refusal))
        #expect(request.proxy.activeRequests.isEmpty)
    }

    @Test(.fault(118)) func `At the end by a deadline its part is there, and another load continues it at once`()
        async throws
    {
        let server = try FixtureServer.start { request in
            guard request.header("Range") != nil else {
                let head = "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 9\r\n\r\n"
                return Response.script(.write(head), .write("abc"), .hang)
            }
            return Response.representation(of: .bytes(Array("abcdefghi".utf8)), etag: "\"1\"", to: request)
        }
        let kind = TransportKind.allCases.last ?? .urlSession
        let request = request(try kind.make(), .sample { $0.baseURL = server.baseURL }, resumes: true)
        var parts: [Int64?] = []
        screen.onEvent = { [folder] request, event in
            guard event == .failure(.timeout) else { return }
            parts.append(DownloadedFile.partialProgress(of: folder.file)?.completedBytes)
            request.loadAgain()
        }
        request.loadData()
        await suspend(while: DownloadedFile.partialProgress(of: folder.file)?.completedBytes != 3)
        await passDeadline()
        #expect(await screen.endings(2) == [.failure(.timeout), .success])
        #expect(parts == [3])
        #expect(folder.contents == ["cookies.txt": "abcdefghi"])
        #expect(request.response?.url == folder.file)
        #expect(server.requests.map { $0.header("Range") } == [nil, "bytes=3-"])
    }
}

/// A file in a folder of its own, whose removal waits for the test unless it is on the main thread.
private final class HeldFile: LoadFile {
    let checkpoint = Checkpoint()
    private let file: StagedFile
    private let discards = Lock<[Bool]>([])

    init(for target: URL) throws {
        file = try StagedFile(at: FilePlace(.file(target)))
        _ = try file.make()
    }

    /// For each removal, whether the file was refused.
    var refusals: [Bool] { discards.withLock { $0 } }
    var place: FilePlace { file.place }
    var location: FileLocation { file.location }
    var canContinue: Bool { false }

    func write(_ body: Data) throws(TransportError) { try file.write(body) }
    func commit() throws(TransportError) { try file.commit() }
    func willDiscard() {}

    func discard(isRefused: Bool) {
        discards.withLock { $0.append(isRefused) }
        if !Thread.isMainThread { checkpoint.pass() }
        file.discard(isRefused: isRefused)
    }
}
