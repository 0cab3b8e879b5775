import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

/// The hooks for uploads from files and downloads to files.
@MainActor @Suite("Uploads and downloads of a request class", .limitedConcurrency, .timeLimit(.minutes(10)))
struct TransferHookTests {
    private final class Download: SampleRequest, APIManager {
        typealias Response = DownloadedFile
        var target = HTTPRequest.Destination.memory

        override var destination: HTTPRequest.Destination { target }
    }

    private final class Upload: SampleRequest, APIManager {
        typealias Response = Void

        override func appendParts(to form: inout MultipartForm) {
            form.append(Data("mine".utf8), name: "own", filename: "a.txt", contentType: "text/plain")
        }
    }

    private final class Source: APIManagerParamSource {
        func params(for request: BaseAPIRequest) -> APIParams? { ["id": 7] }
        func appendParts(to form: inout MultipartForm, for request: BaseAPIRequest) {
            form.append(Data("yours".utf8), name: "other", filename: "b.txt", contentType: "text/plain")
        }
    }

    private func download(_ response: Response) throws -> (Download, FixtureServer) {
        let server = try FixtureServer.start { _ in response }
        let request = Download(proxy: APIProxy(service: APIService(baseURL: server.baseURL)))
        request.method = .get
        return (request, server)
    }

    @Test func `A download is written to its file, whose URL is the response`() async throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appending(path: "goods.bin")
        let (request, server) = try download(.bytes([1, 2, 3]))
        request.target = .file(file)
        #expect(try await request.value() == DownloadedFile(url: file))
        #expect(try Data(contentsOf: file) == Data([1, 2, 3]))
        server.stop()
    }

    @Test func `A failed download leaves no file, and its response is in memory`() async throws {
        let folder = try TemporaryFolder()
        let (request, server) = try download(.json(bytes: #"{"errcode":7,"msg":"gone"}"#.utf8, status: 404))
        request.target = .file(folder.url.appending(path: "goods.bin"))
        let error = await #expect(throws: APIError.self) { try await request.value() }
        #expect(error?.type == .http)
        #expect(error?.message == "gone")
        #expect(try folder.names.isEmpty)
        server.stop()
    }

    @Test(arguments: [11010, 5001])
    func `A refusal in an envelope fails the download and keeps the existing file`(_ code: Int) async throws {
        let folder = try TemporaryFolder()
        try Data("old".utf8).write(to: folder.file)
        let (request, server) = try download(.json(bytes: #"{"errcode":\#(code),"msg":"no"}"#.utf8))
        request.target = .file(folder.file)
        let error = await #expect(throws: APIError.self) { try await request.value() }
        #expect(error?.type == (code == 11010 ? .loginExpired : .server))
        #expect(error?.message == "no")
        #expect(try String(contentsOf: folder.file, encoding: .utf8) == "old")
        #expect(try folder.names == [folder.file.lastPathComponent])
        server.stop()
    }

    @Test func `JSON that is no refusal is a file like any other, and replaces an older one`() async throws {
        let folder = try TemporaryFolder()
        try Data("old".utf8).write(to: folder.file)
        let (request, server) = try download(.json(bytes: "[1]".utf8))
        request.target = .file(folder.file)
        #expect(try await request.value().url == folder.file)
        #expect(try String(contentsOf: folder.file, encoding: .utf8) == "[1]")
        #expect(try folder.names == [folder.file.lastPathComponent])
        server.stop()
    }

    @Test func `A download that is cancelled at its end replaces no file`() async throws {
        let folder = try TemporaryFolder()
        try Data("old".utf8).write(to: folder.file)
        let known = Lock<APIProxy?>(nil)
        let transport = ScriptedTransport { _ in
            known.withLock { $0 }?.cancelAllRequests()
            return HTTPResponse(status: 200, body: Data("new".utf8))
        }
        let request = Download(proxy: APIProxy(fake: transport))
        request.target = .file(folder.file)
        known.withLock { $0 = request.proxy }
        let error = await #expect(throws: APIError.self) { try await request.value() }
        #expect(error?.type == .cancelled)
        await sentinel(request.proxy)
        #expect(try String(contentsOf: folder.file, encoding: .utf8) == "old")
        #expect(try folder.names == [folder.file.lastPathComponent])
    }

    @Test func `A download without a destination is written to a new file in the temporary folder`() async throws {
        let (request, server) = try download(.bytes([1, 2]))
        let files = [try await request.value().url, try await request.value().url]
        #expect(files[0] != files[1])
        for file in files {
            #expect(file.deletingLastPathComponent().path == FileManager.default.temporaryDirectory.path)
            #expect(try Data(contentsOf: file) == Data([1, 2]))
            // Other users may look into that folder.
            #expect(try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int == 0o600)
            try FileManager.default.removeItem(at: file)
        }
        server.stop()
    }

    /// The endings of a download to the temporary folder other than success.
    enum Mishap: CaseIterable {
        case status, refusal, validator, cancelByValidator, cancelOnTheWay, release
    }

    // Exit tests need child processes.
    #if os(macOS) || os(Linux)
    @Test(.fault(70)) func `Without a success the temporary file is removed`() async {
        // Runs in a child process, because nothing else uses its temporary folder.
        await #expect(processExitsWith: .success) { @MainActor in
            let folder = try TemporaryFolder()
            setenv("TMPDIR", folder.url.path, 1)
            for mishap in Mishap.allCases {
                await Self.download(with: mishap)
                #expect(try folder.names.isEmpty, "\(mishap)")
            }
            let request = Download(proxy: APIProxy(fake: ScriptedTransport { _ in HTTPResponse(status: 200) }))
            let name = try await request.value().url.lastPathComponent
            #expect(try folder.names == [name])
        }
    }
    #endif

    private static func download(with mishap: Mishap) async {
        let (isSent, validator, screen) = (Latch(), ValidatorSpy(), Screen())
        let transport = ScriptedTransport { _ in
            isSent.open()
            if mishap == .cancelOnTheWay { try await Task.sleep(for: .seconds(60)) }
            if mishap == .refusal { return .json(#"{"errcode":7}"#) }
            return HTTPResponse(status: mishap == .status ? 500 : 200, body: Data([1]))
        }
        let proxy = APIProxy(fake: transport)
        var request: Download? = Download(delegate: screen, proxy: proxy)
        request?.validator = validator
        if mishap == .release { request?.ownOptions.releasePolicy = .finish }
        validator.acceptsContent = { request in
            if mishap == .cancelByValidator { request.cancelAllRequests() }
            return mishap != .validator
        }
        request?.loadData()
        if mishap == .release { request = nil }
        try? await isSent.wait()
        if mishap == .cancelOnTheWay { request?.cancelAllRequests() }
        // The file of a cancelled load is removed before its ending is delivered.
        if mishap != .release { _ = await screen.ending() }
        await suspend(while: !proxy.activeRequests.isEmpty)
        await sentinel(proxy)
        withExtendedLifetime(request) {}
    }

    private final class Typed<Content: Decodable & Sendable>: SampleRequest, APIManager {
        typealias Response = Content
        var target = HTTPRequest.Destination.memory

        override var destination: HTTPRequest.Destination { target }
    }

    @Test func `A response that is decoded in memory refuses a file before anything is sent`() async throws {
        let (folder, network) = (try TemporaryFolder(), ScriptedTransport { _ in .json(goodsJSON([])) })
        let proxy = APIProxy(fake: network)
        func refuse<Content: Decodable & Sendable>(_ type: Content.Type) async {
            let request = Typed<Content>(proxy: proxy)
            request.target = .file(folder.file)
            let error = await #expect(throws: APIError.self) { try await request.value() }
            #expect(error?.type == .invalidRequest)
            #expect(error?.description.contains("DownloadedFile") == true)
        }
        await refuse(Data.self)
        await refuse(String.self)
        await refuse([Goods].self)
        await refuse(JSONValue.self)
        #expect(network.requests.isEmpty)
        #expect(try folder.names.isEmpty)
    }

    @Test func `Void and an app's serializer may be used with a file`() async throws {
        final class Silent: SampleRequest, APIManager {
            typealias Response = Void
            var target = HTTPRequest.Destination.memory
            override var destination: HTTPRequest.Destination { target }
        }
        final class Sized: SampleRequest, APIManager {
            typealias Response = Int
            var target = HTTPRequest.Destination.memory
            override var destination: HTTPRequest.Destination { target }
            var responseSerializer: ResponseSerializer<Int> {
                ResponseSerializer { response, _ in try Data(contentsOf: #require(response.file)).count }
            }
        }
        let folder = try TemporaryFolder()
        let proxy = APIProxy(fake: ScriptedTransport { _ in HTTPResponse(status: 200, body: Data([1, 2, 3])) })
        let (silent, sized) = (Silent(proxy: proxy), Sized(proxy: proxy))
        silent.target = .file(folder.file)
        sized.target = .file(folder.file)
        try await silent.value()
        #expect(try Data(contentsOf: folder.file).count == 3)
        #expect(try await sized.value() == 3)
    }

    @Test(arguments: [
        (RequestSerializer.json, HTTPMethod.post), (.form, .put), (.multipart, .get), (.multipart, .delete),
    ])
    func `Parts that would not be sent are refused`(_ serializer: RequestSerializer, _ method: HTTPMethod) async throws
    {
        let (network, source) = (ScriptedTransport { _ in .json(#"{"errcode":200}"#) }, Source())
        let proxy = APIProxy(fake: network)
        let own = Upload(proxy: proxy)
        let others = NothingRequest(paramSource: source, proxy: proxy)
        for request in [own, others] as [SampleRequest] {
            (request.customSerializer, request.method) = (serializer, method)
        }
        for error in [
            await #expect(throws: APIError.self) { try await own.value() },
            await #expect(throws: APIError.self) { try await others.value() },
        ] {
            #expect(error?.type == .invalidRequest)
            #expect(error?.description.contains("there are parts, but ") == true)
        }
        #expect(network.requests.isEmpty)
    }

    @Test func `A form has the request's parts, followed by those of its param source`() async throws {
        let server = try FixtureServer.start { _ in .json(bytes: #"{"errcode":200}"#.utf8) }
        let source = Source()
        let request = Upload(paramSource: source, proxy: APIProxy(service: APIService(baseURL: server.baseURL)))
        request.customSerializer = .multipart
        try await request.value()
        let body = String(decoding: try await server.takeRequest().body, as: UTF8.self)
        let texts = ["name=\"id\"", "name=\"own\"", "mine", "name=\"other\"", "yours"]
        let places = texts.compactMap { body.range(of: $0)?.lowerBound }
        #expect(places.count == texts.count)
        #expect(places == places.sorted())
        server.stop()
    }
}
