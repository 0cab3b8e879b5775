import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

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
