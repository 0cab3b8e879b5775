import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

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
