import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandSigning

@MainActor
@Suite("The digest of a content", .limitedConcurrency, .timeLimit(.minutes(5)))
struct ContentDigestTests {
    /// The example of RFC 9530 appendix B.
    private nonisolated static let content = "{\"hello\": \"world\"}\n"
    private nonisolated static let sha256 = "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"
    private nonisolated static let sha512 =
        "sha-512=:YMAam51Jz/jOATT6/zvHrLVgOYTGFy1d6GJiOHTohq4yP+pgk4vf2aCsyRZOtw8MjkM7iw7yZ/WkppmM44T3qg==:"
    private nonisolated static let wrong = "sha-256=:AAAAqy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"

    private func outcome(
        _ headers: HTTPHeaders,
        status: Int = 200,
        _ content: String = content,
        adapter: Adapter<APIResponse> = .reprDigest
    ) async -> APIErrorType? {
        guard let url = URL(string: "http://shop.test") else { return .invalidRequest }
        var service = APIService(baseURL: url)
        (service.envelope, service.retryPolicy) = (nil, .never)
        service.adapters.response = [adapter]
        let transport = ScriptedTransport { _ in
            HTTPResponse(status: status, headers: headers, body: Data(content.utf8))
        }
        do throws(APIError) {
            _ = try await APIRequest<Data>("/a", proxy: APIProxy(service: service, transport: transport)).value()
            return nil
        } catch {
            return error.type
        }
    }

    @Test(arguments: [
        sha256, sha512, " \(sha256) , \(sha512);a=1", "\(wrong), \(sha512)", "\(wrong), \(sha256)",
        "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg:", "md5=:AAAA:, \(sha256)", "md5=:AAAA:", "sha-256=?1",
        "",
    ]) func `A content with its digest is accepted, and one without a digest that is secure`(_ header: String) async {
        #expect(await outcome(["Repr-Digest": header]) == nil)
    }

    @Test(arguments: [wrong, "\(sha256), \(wrong)", "sha-512=:AAAA:, \(sha256)", "sha-256=::"])
    func `A content with another digest fails`(_ header: String) async {
        #expect(await outcome(["Repr-Digest": header]) == .invalidResponse)
    }

    @Test func `A digest is not compared where the content is not what it describes`() async {
        let wrong: HTTPHeaders = ["Repr-Digest": Self.wrong]
        #expect(await outcome(wrong, status: 206) == nil)
        #expect(await outcome(wrong, status: 404) == .http)
        #expect(await outcome(wrong, status: 204, "") == nil)
        #expect(await outcome(wrong, status: 200, "") == .invalidResponse)
        #expect(await outcome(["Repr-Digest": Self.wrong, "Content-Encoding": "gzip"]) == nil)
    }

    @Test func `Several lines are one list`() async {
        var headers: HTTPHeaders = ["Repr-Digest": "md5=:AAAA:"]
        headers.append(HTTPField("Repr-Digest", Self.wrong))
        #expect(await outcome(headers) == .invalidResponse)
    }

    @Test func `A request compares the digest that the app knows`() async throws {
        let digest = try Data(Digest.sha256.hash(of: Data(Self.content.utf8)))
        #expect(await outcome([:], adapter: .sha256(digest)) == nil)
        #expect(await outcome([:], adapter: .sha256(Data())) == .invalidResponse)
    }

    @Test func `A download that was continued is compared as a whole, and removed if it has another digest`()
        async throws
    {
        let folder = URL.temporaryDirectory.appending(path: "errand-digest-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let content = (0..<200_000).map { UInt8(truncatingIfNeeded: $0) }
        let digest = Data(try Digest.sha512.hash(of: Data(content))).base64EncodedString()
        let sent = Lock(digest)
        let server = try FixtureServer.start { request in
            let headers: HeaderLines = ["Repr-Digest": "sha-512=:\(sent.withLock(\.self)):"]
            let whole = Response.representation(of: .bytes(content), etag: "\"1\"", headers: headers, to: request)
            guard request.header("Range") == nil else { return whole }
            let head = "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 200000\r\n\r\n"
            return .script(.write(head), .write(Array(content[..<50_000])), .close)
        }
        var service = APIService(baseURL: server.baseURL)
        (service.envelope, service.retryPolicy) = (nil, .never)
        service.adapters.response = [.reprDigest]
        let request = DownloadSample(proxy: APIProxy(service: service))
        request.target = folder.appending(path: "file")
        for isRight in [true, false] {
            sent.withLock { $0 = isRight ? digest : "AAAA" }
            await #expect(throws: APIError.self) { _ = try await request.value() }
            #expect(request.error?.type == .transport)
            _ = try? await request.value()
            #expect(request.error?.type == (isRight ? nil : .invalidResponse))
            if isRight { #expect(try Data(contentsOf: request.target) == Data(content)) }
            try? FileManager.default.removeItem(at: request.target)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        }
        #expect(server.requests.map { $0.header("Range") } == [nil, "bytes=50000-", nil, "bytes=50000-"])
    }
}

private final class DownloadSample: BaseAPIRequest, APIManager {
    typealias Response = DownloadedFile
    let path = "/file"
    let method = HTTPMethod.get
    var target = URL(filePath: "/")
    override var destination: HTTPRequest.Destination { .file(target) }
    override var options: APIRequestOptions { APIRequestOptions(resumesDownload: true) }

    @Test func `A failure that is sent in the place of a file is not one of its digest`() async throws {
        let target = URL.temporaryDirectory.appending(path: "errand-digest-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: target) }
        let transport = ScriptedTransport { _ in .json(#"{"errcode":11010,"msg":"sign in"}"#) }
        guard let url = URL(string: "http://shop.test") else { return }
        let proxy = APIProxy(service: APIService(baseURL: url), transport: transport)
        let options = APIRequestOptions(adapters: Adapters(response: [.sha256(Data(count: 32))]))
        let request = APIRequest<DownloadedFile>("/a", destination: .file(target), options: options, proxy: proxy)
        let error = await #expect(throws: APIError.self) { try await request.value() }
        #expect(error?.type == .loginExpired)
        // What an adapter before it refuses is not read.
        let first = Adapter<APIResponse>("signature") { _, _ in throw APIError(.security) }
        let verified = APIRequestOptions(adapters: Adapters(response: [first, .sha256(Data(count: 32))]))
        let other = APIRequest<DownloadedFile>("/a", destination: .file(target), options: verified, proxy: proxy)
        let refusal = await #expect(throws: APIError.self) { try await other.value() }
        #expect(refusal?.type == .security)
        #expect(!FileManager.default.fileExists(atPath: target.path))
    }
}
