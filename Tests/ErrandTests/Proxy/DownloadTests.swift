import ErrandTesting
import FixtureServer
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor
@Suite(
    "A download changes its target when it succeeds, and only then",
    .serialized,
    .limitedConcurrency,
    .blocksThread,
    .hangLimit,
    .timeLimit(.minutes(10))
)
struct DownloadEndingTests {
    typealias Instant = DownloadScene.Instant
    typealias Manner = DownloadScene.Manner

    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try Data("old".utf8).write(to: folder.file)
    }

    private func request(_ transport: any HTTPTransport, _ change: (inout APIService) -> Void = { _ in })
        -> DownloadRequest
    {
        let request = DownloadRequest(proxy: APIProxy(service: .sample(change), transport: transport))
        (request.method, request.target) = (.get, .file(folder.file))
        return request
    }

    @Test(arguments: [false, true], [false, true])
    func `What is no file is neither replaced nor requested`(_ isResumable: Bool, _ isLinked: Bool) async throws {
        let (pipe, link) = (folder.url.appending(path: "pipe"), folder.url.appending(path: "link"))
        #expect(mkfifo(pipe.path, 0o600) == 0)
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: pipe)
        let transport = ScriptedTransport { _ in .text("new") }
        let request = request(transport)
        request.target = .file(isLinked ? link : pipe)
        request.ownOptions.resumesDownload = isResumable
        await #expect { try await request.value() } throws: { ($0 as? APIError)?.type == .invalidRequest }
        #expect(request.error?.reason == "\(isLinked ? "link" : "pipe") is not a regular file")
        #expect(transport.requests.isEmpty)
        let type = try FileManager.default.attributesOfItem(atPath: pipe.path)[.type] as? FileAttributeType
        #expect(type != .typeRegular)
    }

    @Test(arguments: [false, true], [0o600, 0o755])
    func `The file has the permissions of the one that it replaces`(_ isResumable: Bool, _ mode: Int) async throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: folder.file.path)
        let request = request(ScriptedTransport { _ in .text("new") })
        request.ownOptions.resumesDownload = isResumable
        #expect(try await request.value().url == folder.file)
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.file.path)
        #expect(attributes[.posixPermissions] as? Int == mode)
        #expect(try Data(contentsOf: folder.file) == Data("new".utf8))
    }

    /// Exchanges the file that it has stored for a link, as another user could who may write the folder.
    private struct Exchanger: HTTPTransport {
        let victim: URL

        func send(
            _ request: HTTPRequest,
            progress: TransferProgress.Handler?
        ) async throws(TransportError) -> HTTPResponse {
            guard case .file(let file) = request.destination else { return HTTPResponse(status: 200) }
            guard symlink(victim.path, file.path) == 0 else { throw TransportError(.storage, "symlink") }
            var response = HTTPResponse(status: 200)
            response.file = file
            return response
        }
    }

    private func permissions(_ url: URL) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int
    }

    @Test func `No file behind a link gets the permissions of the one that is replaced`() async throws {
        let victim = folder.url.appending(path: "victim")
        try Data("secret".utf8).write(to: victim)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: victim.path)
        try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: folder.file.path)
        _ = try await request(Exchanger(victim: victim)).value()
        #expect(try permissions(victim) == 0o600)
    }

    @Test(arguments: [0o600, 0o666])
    func `In a folder that others may write, permissions are only taken away`(_ mode: Int) async throws {
        let usual = folder.url.appending(path: "usual")
        try Data().write(to: usual)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: folder.file.path)
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder.url.path)
        _ = try await request(ScriptedTransport { _ in .text("new") }).value()
        #expect(try permissions(folder.file) == (mode == 0o600 ? 0o600 : permissions(usual)))
    }

    #if os(Linux)
    @Test func `A link to an open file, as the standard output may be, is not replaced`() async throws {
        let open = folder.url.appending(path: "open"), link = folder.url.appending(path: "link")
        try Data("old".utf8).write(to: open)
        let file = try FileHandle(forWritingTo: open)
        let destination = "/proc/self/fd/\(file.fileDescriptor)"
        try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: destination)
        let request = request(ScriptedTransport { _ in .text("new") })
        request.target = .file(link)
        await #expect { try await request.value() } throws: { ($0 as? APIError)?.type == .invalidRequest }
        #expect(request.error?.reason == "link is not a regular file")
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == destination)
        try file.close()
    }
    #endif

    @Test func `The number of the system's error can be read`() async throws {
        let request = request(ScriptedTransport { _ in .text("new") })
        request.target = .file(folder.url.appending(path: "none/file"))
        await #expect { try await request.value() } throws: { error in
            let cause = (error as? APIError)?.underlying as? TransportError
            let number = cause?.underlying as NSError?
            return cause?.kind == .storage && number?.domain == NSPOSIXErrorDomain && number?.code == Int(ENOENT)
        }
    }

    @Test func `What a killed process has left for a day is removed`() async throws {
        func make(_ name: String, hoursAgo hours: Double, fileHoursAgo: Double? = nil) throws {
            let url = folder.url.appending(path: name)
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
            let file = url.appending(path: "cookies.txt")
            try Data("x".utf8).write(to: file)
            for (path, hours) in [(file.path, fileHoursAgo ?? hours), (url.path, hours)] {
                let date = Date(timeIntervalSinceNow: -hours * 3_600)
                try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
            }
        }
        let kept = (0..<4).map { _ in UUID().uuidString }
        try make(".\(String.uniqueName).download", hoursAgo: 25)
        try make(".\(kept[0]).download", hoursAgo: 23)
        // Something writes to it.
        try make(".\(kept[1]).download", hoursAgo: 25, fileHoursAgo: 0)
        try make("\(kept[2]).download", hoursAgo: 25)
        try make(".\(kept[3])", hoursAgo: 25)
        try make(".mine.download", hoursAgo: 25)
        let request = request(ScriptedTransport { _ in .text("new") })
        #expect(try await request.value().url == folder.file)
        let names = [
            ".\(kept[0]).download", ".\(kept[1]).download", "\(kept[2]).download", ".\(kept[3])", ".mine.download",
            folder.file.lastPathComponent,
        ]
        #expect(try folder.names == names.sorted())
    }

    // MARK: Cancels

    @Test(.fault(93), arguments: Instant.allCases, Manner.allCases)
    func `Cancelled between the last byte and the delivery, it changes no target and leaves no other file`(
        _ instant: Instant,
        _ manner: Manner
    ) async throws {
        // A callback retains the request, which is released only after it.
        guard manner != .byRelease || !instant.isOnMainActor else { return }
        let kinds = instant == .lastByte || instant == .transportReturned ? TransportKind.allCases : []
        for kind in [nil] + kinds.map(Optional.some) {
            let scene = try DownloadScene(instant, live: kind)
            await scene.cancel(at: instant, manner)
            #expect(scene.witness.seen == [["cookies.txt": "old"]])
            #expect(scene.folder.contents == ["cookies.txt": "old"])
            #expect(scene.screen.events == ([.byRelease, .ofTask].contains(manner) ? [] : [.cancelled]))
            #expect(scene.proxy.activeRequests.isEmpty)
        }
    }

    @Test(.fault(93), arguments: [nil] + TransportKind.allCases.map(Optional.some))
    func `Cancelled inside the body, it leaves no file when it ends or later`(_ kind: TransportKind?) async throws {
        let (latch, gate, arrived) = (Latch(), Gate(), Latch())
        // Ignores its cancel, and writes its file after the load has ended.
        let deaf = ScriptedTransport { _ in
            arrived.open()
            await latch.waitIgnoringCancellation()
            return .text("new")
        }
        let server = try FixtureServer.start { _ in
            .script(.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nnew"), .pass(gate), .close)
        }
        let screen = Screen()
        let request = request(try kind?.make() ?? deaf) { if kind != nil { $0.baseURL = server.baseURL } }
        let witness = DownloadScene.Witness(folder)
        (request.delegate, request.ownOptions.reportsProgress) = (screen, true)
        request.loadData(indicator: witness)
        if kind == nil { try await arrived.wait() } else { await suspend(while: screen.progress.isEmpty) }
        let work = request.proxy.loads.tasks.first
        request.cancelAllRequests()
        #expect(await screen.ending() == .cancelled)
        #expect(witness.seen == [["cookies.txt": "old"]])
        latch.open()
        gate.open()
        await work?.value
        #expect(folder.contents == ["cookies.txt": "old"])
    }

    @Test(.fault(93), arguments: TransportKind.supportingInterruptedHeads)
    func `Cancelled by another thread while its bytes arrive, it ends once, in agreement with its file`(
        _ kind: TransportKind
    ) async throws {
        let bodies = (0..<rounds(300)).map { "round=\(1_000 + $0)" }
        let server = try FixtureServer.start { request in
            let body = request.query ?? ""
            let steps = body.flatMap { [Response.Step.write("\($0)"), .wait(.microseconds(100))] }
            return Response(status: 200, headers: ["Content-Length": "\(body.utf8.count)"], steps: steps)
        }
        let transport = try kind.make()
        var (text, successes) = ("old", 0)
        for (round, body) in bodies.enumerated() {
            // After the last byte, the cancel competes with the ending.
            let instant = CountedTransport(transport, bytes: round % (body.utf8.count + 2))
            let request = request(instant) { $0.baseURL = server.baseURL }
            let witness = DownloadScene.Witness(folder)
            request.reform = { _ in ["round": 1_000 + round] }
            let id = request.loadData(indicator: witness)
            Thread { [proxy = request.proxy] in
                instant.wait()
                proxy.cancelRequest(id)
            }.start()
            await suspend(while: witness.seen.isEmpty)
            if request.response != nil { (text, successes) = (body, successes + 1) }
            #expect(witness.seen == [["cookies.txt": text]])
        }
        #expect(successes < bodies.count)
        #expect(folder.contents == ["cookies.txt": text])
    }

    @Test(.fault(93), arguments: [false, true])
    func `A plain call that is cancelled at its end replaces no file either`(_ byID: Bool) async throws {
        let known = Lock<APIProxy?>(nil)
        let caller = Lock<Task<APIErrorType?, Never>?>(nil)
        let checkpoint = Checkpoint()
        let transport = ScriptedTransport { _ in
            checkpoint.pass()
            if byID { known.withLock { $0 }?.cancelAllRequests() } else { caller.withLock { $0 }?.cancel() }
            return .text("new")
        }
        let proxy = APIProxy(fake: transport)
        known.withLock { $0 = proxy }
        var request = HTTPRequest(.get, URL("http://shop.test/"))
        request.destination = .file(folder.file)
        let call = Task { [request, folder] in
            let error = await #expect(throws: APIError.self) { try await proxy.send(request) }
            #expect(folder.contents == ["cookies.txt": "old"])
            return error?.type
        }
        caller.withLock { $0 = call }
        checkpoint.release()
        #expect(await call.value == .cancelled)
    }

    // MARK: Successes and failures

    @Test func `Until the load succeeds, the file is next to its target and can be read by its owner alone`()
        async throws
    {
        let validator = ValidatorSpy()
        let request = request(ScriptedTransport { _ in .text("new") })
        var texts: [String?] = []
        var modes: [mode_t?] = []
        validator.acceptsContent = { [folder] _ in
            texts.append(folder.contents["cookies.txt"])
            let staged = (try? folder.names)?.filter { $0.hasSuffix(".download") } ?? []
            modes += staged.map { stat(ofTarget: folder.url.appending(path: $0).path)?.st_mode }
            return true
        }
        request.validator = validator
        request.onReform = { [folder] in texts.append(folder.contents["cookies.txt"]) }
        #expect(try await request.value() == DownloadedFile(url: folder.file))
        #expect(texts == ["old", "old"])
        #expect(modes == [S_IFDIR | 0o700], "nobody else reads it until then")
        #expect(folder.contents == ["cookies.txt": "new"])
        #expect(request.response?.url == folder.file)
        #expect(request.rawResponse?.file == folder.file)
    }

    @Test func `Values of the app that contain the file name the target`() async throws {
        struct Asset: Sendable {
            let file: DownloadedFile
            let type: String?
        }
        let response = HTTPResponse(status: 200, headers: ["Content-Type": "text/plain"], body: Data("new".utf8))
        let proxy = APIProxy(fake: ScriptedTransport { _ in response })
        let type = ResponseSerializer { response, _ in response.headers["Content-Type"] }
        let assets = ResponseSerializer.file.combined(with: type).map { Asset(file: $0, type: $1) }
        let request = APIRequest("/a", responseSerializer: assets, destination: .file(folder.file), proxy: proxy)
        let asset = try await request.value()
        #expect(asset.file.url == folder.file && asset.type == "text/plain")
        #expect(request.response?.file == DownloadedFile(url: folder.file))
        #expect(Set([asset.file, DownloadedFile(url: folder.file)]).count == 1)
        #expect("\(Mirror(reflecting: asset.file).children.map(\.label))" == #"[Optional("description")]"#)
    }

    @Test func `A plain call names the target, and a response that is not 2xx does not change it`() async throws {
        let proxy = APIProxy(fake: ScriptedTransport { .text("new", status: $0.url.path == "/" ? 200 : 404) })
        var request = HTTPRequest(.get, URL("http://shop.test/missing"))
        request.destination = .file(folder.file)
        #expect(try await proxy.send(request).text == "new")
        #expect(folder.contents == ["cookies.txt": "old"])
        request.url = URL("http://shop.test/")
        #expect(try await proxy.send(request).file == folder.file)
        #expect(folder.contents == ["cookies.txt": "new"])
    }

    @Test(arguments: ["refused", "undecodable", "lost", "http", "tried again"])
    func `A failed load has left no file when it ends`(_ how: String) async throws {
        let tries = Counter()
        let transport = ScriptedTransport { _ in
            let number = tries.next()
            if how == "lost" { throw TransportError(.connectionLost, "lost") }
            if how == "tried again", number < 3 { return .status(503) }
            return .text("new", status: how == "http" ? 404 : 200)
        }
        let request = request(transport) {
            $0.retryPolicy = RetryPolicy()
            $0.retryPolicy.baseDelay = .zero
        }
        let (validator, screen) = (ValidatorSpy(), Screen())
        validator.acceptsContent = { _ in how != "refused" }
        (request.validator, request.delegate) = (validator, screen)
        request.refusal = how == "undecodable" ? APIError(.decoding) : nil
        let witness = DownloadScene.Witness(folder)
        request.loadData(indicator: witness)
        let ending = await screen.ending()
        #expect(ending == (how == "tried again" ? .success : .failure(request.error?.type ?? .cancelled)))
        #expect(witness.seen == [["cookies.txt": ending == .success ? "new" : "old"]])
        #expect(request.error?.response?.file == nil)
        #expect(request.rawResponse?.file == (ending == .success ? folder.file : nil))
    }

    @Test func `A temporary file that nothing names any more is removed`() async throws {
        let (first, count) = (Latch(), Counter())
        let transport = ScriptedTransport { _ in
            let number = count.next()
            if number == 1 { try await first.wait() }
            return .text("file \(number)")
        }
        let proxy = APIProxy(fake: transport)
        let request = APIRequest<DownloadedFile>("/a", restartPolicy: .concurrent, proxy: proxy)
        let (keeper, screen) = (FileKeeper(), Screen())
        (request.validator, request.delegate) = (keeper, screen)
        request.loadData()
        await suspend(while: count.count == 0)
        request.loadData()
        #expect(await screen.ending() == .success)
        first.open()
        #expect(await screen.ending() == .success)
        let file = try #require(request.response?.url)
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try String(contentsOf: file, encoding: .utf8) == "file 2")
        #expect(keeper.files.count == 2)
        #expect(keeper.files.filter { FileManager.default.fileExists(atPath: $0.url.path) }.map(\.url) == [file])
    }

    // MARK: The disk

    @Test func `A missing folder is a storage error that names the file, and nothing is sent`() async throws {
        let transport = ScriptedTransport { _ in .text("new") }
        let request = request(transport)
        let target = folder.url.appending(path: "missing/invoice.pdf")
        request.target = .file(target)
        var plain = HTTPRequest(.get, URL("http://shop.test/"))
        plain.destination = .file(target)
        let errors = [
            await #expect(throws: APIError.self) { try await request.value() },
            await #expect(throws: APIError.self) { try await request.proxy.send(plain) },
        ]
        for error in errors {
            #expect(error?.type == .storage)
            #expect(error?.reason == "invoice.pdf cannot be written (mkdir: No such file or directory)")
            #expect(error?.message == "A file could not be saved or read on this device.")
        }
        #expect(transport.requests.isEmpty)
    }

    @Test func `A response without content replaces no file, and an empty one does`() async throws {
        let error = await #expect(throws: APIError.self) {
            try await request(ScriptedTransport { _ in .status(204) }).value()
        }
        #expect(error?.type == .decoding)
        #expect(try String(contentsOf: folder.file, encoding: .utf8) == "old")
        #expect(try folder.names == ["cookies.txt"])
        // Nor does it for a request that needs no file, or for a plain call.
        let proxy = APIProxy(fake: ScriptedTransport { _ in .status(204) })
        let nothing = APIRequest("/a", responseSerializer: .nothing, destination: .file(folder.file), proxy: proxy)
        try await nothing.value()
        var plain = HTTPRequest(.get, URL("http://shop.test/"))
        plain.destination = .file(folder.file)
        #expect(try await proxy.send(plain).file == nil)
        #expect(nothing.rawResponse?.status == 204 && nothing.rawResponse?.file == nil)
        for (method, status) in [(HTTPMethod.head, 200), (.get, 205)] {
            let proxy = APIProxy(fake: ScriptedTransport { _ in .status(status) })
            let target = HTTPRequest.Destination.file(folder.file)
            try await APIRequest<Void>("/a", method: method, destination: target, proxy: proxy).value()
        }
        let missing = request(ScriptedTransport { _ in .status(404) })
        (missing.method, missing.ownOptions.acceptedStatuses) = (.head, [404])
        let refused = await #expect(throws: APIError.self) { try await missing.value() }
        #expect(refused?.type == .decoding)
        #expect(folder.contents == ["cookies.txt": "old"])
        _ = try await request(ScriptedTransport { _ in .status(200) }).value()
        #expect(try Data(contentsOf: folder.file).isEmpty)
    }

    @Test func `A response or a file that the app makes of the temporary URL names the target`() async throws {
        let adapter = Adapter { (response: inout APIResponse, _) in
            let raw = HTTPResponse(status: 200, headers: response.headers, body: Data(), file: response.file)
            response = APIResponse(raw, url: response.url)
        }
        let request = request(ScriptedTransport { _ in .text("new") }) { $0.adapters.response = [adapter] }
        #expect(try await request.value().url == folder.file)
        #expect(request.rawResponse?.file == folder.file)
        let made = ResponseSerializer { response, _ in try DownloadedFile(url: #require(response.file)) }
        let proxy = APIProxy(fake: ScriptedTransport { _ in .text("newer") })
        let other = APIRequest("/a", responseSerializer: made, destination: .file(folder.file), proxy: proxy)
        #expect(try await other.value().url == folder.file)
        #expect(folder.contents == ["cookies.txt": "newer"])
    }

    @Test func `A temporary file that is kept in a set is found there after it has been moved`() async throws {
        let request = request(ScriptedTransport { _ in .text("new") })
        let keeper = FileKeeper()
        request.validator = keeper
        let file = try await request.value()
        #expect(keeper.files.contains(file) && keeper.files.contains(DownloadedFile(url: folder.file)))
    }

    @Test func `A target that is a folder is kept, and the load fails`() async throws {
        let target = folder.url.appending(path: "full")
        try FileManager.default.createDirectory(at: target.appending(path: "x"), withIntermediateDirectories: true)
        let transport = ScriptedTransport { _ in .text("new") }
        let request = request(transport)
        request.target = .file(target)
        let screen = Screen()
        request.delegate = screen
        request.loadData()
        #expect(await screen.ending() == .failure(.storage))
        #expect(transport.requests.isEmpty)
        #expect(request.error?.reason == "full cannot be written (rename: Is a directory)")
        #expect(request.rawResponse?.file == nil)
        #expect(try folder.names == ["cookies.txt", "full"])
    }

    @Test(arguments: [false, true])
    func `A target whose name is too long for the file system fails before the request is sent`(_ resumes: Bool) async {
        let transport = ScriptedTransport { _ in .text("new") }
        let request = request(transport)
        request.target = .file(folder.url.appending(path: String(repeating: "影", count: 84) + ".mp4"))
        request.ownOptions.resumesDownload = resumes
        let error = await #expect(throws: APIError.self) { try await request.value() }
        #expect(error?.type == .storage && transport.requests.isEmpty)
        #expect(error?.reason?.contains("(rename: File name too long)") == true)
    }

    @Test(arguments: ["http://shop.test/file", "file:///", "file:///tmp/.."])
    func `A destination that is no file makes the request invalid`(_ url: String) async {
        let transport = ScriptedTransport { _ in .text("new") }
        let request = request(transport)
        request.target = .file(URL(url))
        let error = await #expect(throws: APIError.self) { try await request.value() }
        #expect(error?.type == .invalidRequest)
        #expect(transport.requests.isEmpty)
    }

    @Test(arguments: TransportKind.allCases)
    func `A missing upload file makes the request invalid, and one that ends early is a storage error`(
        _ kind: TransportKind
    ) async throws {
        var options = ServerOptions()
        options.bodyHandling = { _ in .discard }
        let server = try FixtureServer.start(options) { _ in .status(204) }
        var request = HTTPRequest(.put, to: server, body: .file(folder.url.appending(path: "photo.jpg")))
        let proxy = APIProxy(transport: try kind.make())
        let missing = await #expect(throws: APIError.self) { try await proxy.send(request) }
        #expect(missing?.type == .invalidRequest)
        #expect(missing?.reason == "photo.jpg cannot be read (open: No such file or directory)")
        request.body = .file(folder.url.appending(path: "anna@example.com.jpg"))
        let secret = await #expect(throws: APIError.self) { try await proxy.send(request) }
        #expect(secret?.reason == "<redacted 20 bytes> cannot be read (open: No such file or directory)")
        #expect(server.totalConnections == 0)
        let file = try TemporaryFile(zeros: 10 << 30)
        request.body = .file(file.url)
        let early = await #expect(throws: APIError.self) {
            try await proxy.send(request) { _ in try? file.truncate(to: 1) }
        }
        #expect(early?.type == .storage)
        #expect(early?.reason?.hasPrefix("file ") == true)
    }
}

/// A validator that keeps the files.
@MainActor private final class FileKeeper: APIManagerValidator {
    private(set) var files: Set<DownloadedFile> = []

    func request(_ request: BaseAPIRequest, accepts content: any Sendable, in response: APIResponse) -> Bool {
        if let file = content as? DownloadedFile { files.insert(file) }
        return true
    }
}

/// A transport with an instant for which a thread waits: when a number of bytes has arrived, or when it returns.
private struct CountedTransport: HTTPTransport {
    private let base: any HTTPTransport
    private let bytes: Int
    private let instant = DispatchSemaphore(value: 0)

    init(_ base: any HTTPTransport, bytes: Int) {
        (self.base, self.bytes) = (base, bytes)
    }

    /// Waits for the instant.
    func wait() { instant.wait() }

    func send(_ request: HTTPRequest, progress: TransferProgress.Handler?) async throws(TransportError) -> HTTPResponse
    {
        defer { instant.signal() }
        if bytes == 0 { instant.signal() }
        return try await base.send(request) { [instant, bytes] report in
            if report.direction == .download, report.completedBytes >= bytes { instant.signal() }
            progress?(report)
        }
    }
}

@MainActor
@Suite("A downloaded file of an accepted status", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct AcceptedDownloadTests {
    private final class Download: SampleRequest, APIManager {
        typealias Response = DownloadedFile
        var target = HTTPRequest.Destination.memory
        override var destination: HTTPRequest.Destination { target }
    }

    /// Chooses by status, so that it may read memory or a file.
    private final class Choosing: SampleRequest, APIManager {
        typealias Response = DownloadedFile
        var target = HTTPRequest.Destination.memory
        override var destination: HTTPRequest.Destination { target }
        var responseSerializer: ResponseSerializer<DownloadedFile> { .choosing { _ in .file } }
    }

    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try Data("old".utf8).write(to: folder.file)
    }

    private func request(_ transport: any HTTPTransport, _ service: APIService = .sample()) -> Download {
        let request = Download(proxy: APIProxy(service: service, transport: transport))
        (request.method, request.target) = (.get, .file(folder.file))
        request.ownOptions.acceptedStatuses = [304, 404]
        return request
    }

    @Test(arguments: TransportKind.allCases)
    func `The body of an accepted status is the file, which replaces an older one`(_ kind: TransportKind) async throws {
        let body = #"{"errcode":7,"msg":"gone"}"#
        let server = try FixtureServer.start { _ in .json(bytes: body.utf8, status: 404) }
        let request = request(try kind.make(), .sample { $0.baseURL = server.baseURL })
        #expect(try await request.value() == DownloadedFile(url: folder.file))
        #expect(folder.contents == ["cookies.txt": body])
        #expect(request.rawResponse?.status == 404 && request.rawResponse?.file == folder.file)
        server.stop()
    }

    @Test func `Without a destination the body is in a new temporary file`() async throws {
        let request = request(ScriptedTransport { _ in .text("gone", status: 404) })
        request.target = .memory
        let file = try await request.value()
        #expect(try String(contentsOf: file.url, encoding: .utf8) == "gone")
        try FileManager.default.removeItem(at: file.url)
    }

    @Test func `An accepted 304 leaves the existing file, which is the value`() async throws {
        let request = request(ScriptedTransport { _ in .status(304) })
        #expect(try await request.value() == DownloadedFile(url: folder.file))
        #expect(folder.contents == ["cookies.txt": "old"])
        try FileManager.default.removeItem(at: folder.file)
        let error = await #expect(throws: APIError.self) { try await request.value() }
        #expect(error?.type == .decoding)
        #expect(error?.reason == "the response with status 304 is not in a file")
        #expect(folder.contents.isEmpty)
    }

    @Test func `A status that is not accepted, a refusal and a cancel leave the existing file`() async throws {
        let refused = request(ScriptedTransport { _ in .text("gone", status: 410) })
        let error = await #expect(throws: APIError.self) { try await refused.value() }
        #expect(error?.type == .http && error?.response?.text == "gone")
        let validator = ValidatorSpy()
        validator.acceptsContent = { _ in false }
        let invalid = request(ScriptedTransport { _ in .text("gone", status: 404) })
        invalid.validator = validator
        let refusal = await #expect(throws: APIError.self) { try await invalid.value() }
        #expect(refusal?.type == .invalidResponse && refusal?.response?.file == nil)
        validator.acceptsContent = { request in
            request.cancelAllRequests()
            return true
        }
        let cancel = await #expect(throws: APIError.self) { try await invalid.value() }
        #expect(cancel?.type == .cancelled)
        await sentinel(invalid.proxy)
        #expect(folder.contents == ["cookies.txt": "old"])
    }

    @Test func `A chosen file serializer reads a 2xx alone, and the error names the status`() async throws {
        for (status, isFile) in [(200, true), (404, false)] {
            let transport = ScriptedTransport { _ in .text("new", status: status) }
            let request = Choosing(proxy: APIProxy(fake: transport))
            (request.method, request.target) = (.get, .file(folder.file))
            request.ownOptions.acceptedStatuses = [404]
            let batch = APIBatch()
            let outcome = batch.add(request)
            try? await batch.run()
            let result = try #require(outcome.result)
            #expect((try? result.get().url) == (isFile ? folder.file : nil))
            guard !isFile else { continue }
            #expect(result.error?.type == .decoding)
            #expect(result.error?.reason == "the response with status 404 is not in a file")
        }
        #expect(folder.contents == ["cookies.txt": "new"])
    }
}

@MainActor
@Suite("A download to a folder", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct FolderDownloadTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func request(
        _ server: FixtureServer,
        _ kind: TransportKind = .allCases.last ?? .urlSession,
        path: String = "/files/photo.jpg"
    ) throws -> DownloadRequest {
        let service = APIService.sample { $0.baseURL = server.baseURL }
        let request = DownloadRequest(proxy: APIProxy(service: service, transport: try kind.make()))
        (request.method, request.path, request.target) = (.get, path, .folder(folder.url))
        return request
    }

    private func server(_ disposition: String? = nil) throws -> FixtureServer {
        let headers: HeaderLines = disposition.map { ["Content-Disposition": $0] } ?? [:]
        return try FixtureServer.start { _ in .text("new", headers: headers) }
    }

    @Test(arguments: TransportKind.allCases)
    func `The name is that of the header, or of the URL, and no file is replaced`(_ kind: TransportKind) async throws {
        let naming = try server("attachment; filename=plain.txt; filename*=UTF-8''%E2%82%AC%20rates.txt")
        let other = try server()
        let (named, unnamed) = (try request(naming, kind), try request(other, kind))
        try Data("old".utf8).write(to: folder.url.appending(path: "photo.jpg"))
        #expect(try await named.value().url.lastPathComponent == "€ rates.txt")
        #expect(try await unnamed.value().url == folder.url.appending(path: "photo 2.jpg"))
        #expect(try await unnamed.value().url == folder.url.appending(path: "photo 3.jpg"))
        #expect(unnamed.response?.url == folder.url.appending(path: "photo 3.jpg"))
        #expect(try folder.names == ["photo 2.jpg", "photo 3.jpg", "photo.jpg", "€ rates.txt"])
        #expect(try String(contentsOf: folder.url.appending(path: "photo.jpg"), encoding: .utf8) == "old")
        #expect(try String(contentsOf: folder.url.appending(path: "photo 3.jpg"), encoding: .utf8) == "new")
        #expect(naming.totalRequests == 1 && other.totalRequests == 2)
    }

    @Test func `Many downloads of one name that end at once have a file each`() async throws {
        let server = try server("attachment; filename=\"a.tar.gz\"")
        let requests = try (0..<40).map { _ in try request(server) }
        let tasks = requests.map { request in Task { try await request.value().url.lastPathComponent } }
        var names: Set<String> = []
        for task in tasks { names.insert(try await task.value) }
        #expect(names.count == 40)
        #expect(try Set(folder.names) == names)
        #expect(names.contains("a.tar.gz") && names.contains("a.tar 40.gz"))
    }

    @Test(arguments: [
        "../../../etc/passwd", "..\\..\\x.exe", "/etc/passwd", ".bashrc", "..", "CON.txt", "a\u{202E}gpj.exe", "",
    ])
    func `A hostile name is one in the folder`(_ name: String) async throws {
        let escaped = name.replacing("\\", with: "\\\\")
        let server = try server("attachment; filename=\"\(escaped)\"")
        let url = try await request(server).value().url
        #expect(server.totalRequests == 1)
        #expect(url.deletingLastPathComponent().path == folder.url.path)
        #expect(!url.lastPathComponent.hasPrefix("."))
        #expect(try folder.names == [url.lastPathComponent])
    }

    @Test func `A transport, which chooses no names, refuses a folder`() async throws {
        let server = try server()
        var request = HTTPRequest(.get, server.url("/photo.jpg"))
        request.destination = .folder(folder.url)
        let scripted = ScriptedTransport { _ in .status(200) }
        let transports = try TransportKind.allCases.map { try $0.make() } + [scripted]
        for transport in transports {
            do throws(TransportError) {
                _ = try await transport.send(request, progress: nil)
                Issue.record("The transport has chosen a name")
            } catch {
                #expect(error.kind == .invalidRequest)
            }
        }
        #expect(try folder.names == [])
    }

    @Test func `A load that fails leaves nothing, and a folder must exist`() async throws {
        let server = try FixtureServer.start { request in
            request.path == "/lost"
                ? .script(.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"), .write("1234"), .close) : .status(404)
        }
        for path in ["/lost", "/missing"] {
            let request = try request(server, path: path)
            await #expect(throws: APIError.self) { _ = try await request.value() }
            #expect(try folder.names == [])
        }
        let request = try request(server)
        request.target = .folder(folder.url.appending(path: "none"))
        for resumes in [false, true] {
            request.ownOptions.resumesDownload = resumes
            await #expect(throws: APIError.self) { _ = try await request.value() }
            #expect(request.error?.type == .storage)
            #expect(request.error?.reason?.hasPrefix("download cannot be written") == true)
        }
        #expect(server.totalRequests == 2)
    }
}
