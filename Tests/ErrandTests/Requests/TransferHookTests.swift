import ErrandTesting
import FixtureServer
import Foundation
import Synchronization
import Testing

@testable import Errand

/// Hooks for what goes to and from files.
@MainActor @Suite("Uploads and downloads of a request class", .takesTurns, .timeLimit(.minutes(1)))
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

    private func download(_ answer: Answer) throws -> (Download, FixtureServer) {
        let server = try FixtureServer.start { _ in answer }
        let request = Download(proxy: APIProxy(service: APIService(baseURL: server.baseURL)))
        request.method = .get
        return (request, server)
    }

    @Test func `A download goes to its file, which is the response`() async throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appending(path: "goods.bin")
        let (request, server) = try download(.bytes([1, 2, 3]))
        request.target = .file(file)
        #expect(try await request.value() == DownloadedFile(url: file))
        #expect(try Data(contentsOf: file) == Data([1, 2, 3]))
        server.stop()
    }

    @Test func `A download that fails leaves no file, and its answer is in memory`() async throws {
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
    func `A refusal in an envelope fails the download, and the file that was there stays`(_ code: Int) async throws {
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

    @Test func `JSON that is no refusal is a file like any other, and takes the place of an older one`() async throws {
        let folder = try TemporaryFolder()
        try Data("old".utf8).write(to: folder.file)
        let (request, server) = try download(.json(bytes: "[1]".utf8))
        request.target = .file(folder.file)
        #expect(try await request.value().url == folder.file)
        #expect(try String(contentsOf: folder.file, encoding: .utf8) == "[1]")
        #expect(try folder.names == [folder.file.lastPathComponent])
        server.stop()
    }

    @Test func `A download that is cancelled at its end replaces nothing`() async throws {
        let folder = try TemporaryFolder()
        try Data("old".utf8).write(to: folder.file)
        let known = Mutex<APIProxy?>(nil)
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

    @Test func `A download without a file says what is missing`() async throws {
        let (request, server) = try download(.bytes([1]))
        let error = await #expect(throws: APIError.self) { try await request.value() }
        #expect(error?.type == .decoding)
        #expect(error?.description.contains("destination") == true)
        server.stop()
    }

    @Test func `A form has the request's parts, and behind them its param source's`() async throws {
        let server = try FixtureServer.start { _ in .json(bytes: #"{"errcode":200}"#.utf8) }
        let source = Source()
        let request = Upload(paramSource: source, proxy: APIProxy(service: APIService(baseURL: server.baseURL)))
        request.ownSerializer = .multipart
        try await request.value()
        let body = String(decoding: try await server.takeRequest().body, as: UTF8.self)
        let texts = ["name=\"id\"", "name=\"own\"", "mine", "name=\"other\"", "yours"]
        let places = texts.compactMap { body.range(of: $0)?.lowerBound }
        #expect(places.count == texts.count)
        #expect(places == places.sorted())
        server.stop()
    }
}
