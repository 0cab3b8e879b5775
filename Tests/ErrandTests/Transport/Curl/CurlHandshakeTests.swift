#if os(Linux)
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

private let isPossible = TestAuthority.isAvailable && TestProgram.path(of: "nginx") != nil

/// A server and a relay that does not forward the first connections, so that their TLS handshake hangs.
@Suite(
    "A handshake that hangs",
    .limitedConcurrency,
    .timeLimit(.minutes(10)),
    .enabled(if: isPossible, "nginx or openssl is not installed")
)
struct CurlHandshakeTests {
    /// The version of HTTP that the server supports over TLS.
    enum Version: String, CaseIterable {
        case http1 = ""
        case http2 = "http2"
    }

    private static let authority = Result { try TestAuthority() }
    private let authority: TestAuthority
    private let folder: TemporaryFolder
    private let backend: FixtureServer

    init() throws {
        authority = try Self.authority.get()
        folder = try TemporaryFolder()
        // Longer than any exchange waits for the connection of another one.
        backend = try FixtureServer.start { request in
            request.path == "/slow" ? .text("ok").delayed(by: .milliseconds(1_300)) : .text("ok")
        }
    }

    private func startNginx(_ version: Version) async throws -> (TestProgram, UInt16) {
        let free = try FixtureServer.start { _ in .hang }
        let port = free.port
        free.stop()
        let identity = authority.identity("server").path
        let configuration = """
            daemon off; master_process off; pid nginx.pid; error_log stderr;
            events { worker_connections 1024; }
            http {
                access_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
                uwsgi_temp_path uwsgi; scgi_temp_path scgi;
                server {
                    listen 127.0.0.1:\(port) ssl \(version.rawValue);
                    ssl_certificate \(identity); ssl_certificate_key \(identity);
                    location / { proxy_pass http://127.0.0.1:\(backend.port); }
                }
            }
            """
        let file = folder.url.appending(path: "nginx.conf")
        try configuration.write(to: file, atomically: true, encoding: .utf8)
        let command = ["nginx", "-p", folder.url.path, "-c", file.path, "-e", "stderr"]
        let program = try TestProgram(command, in: folder.url)
        let pid = folder.url.appending(path: "nginx.pid").path
        try await until { FileManager.default.fileExists(atPath: pid) }
        return (program, port)
    }

    private func transport() throws -> CurlTransport {
        var configuration = TransportConfiguration()
        configuration.tls.additionalAuthorities = .file(authority.certificate)
        return try CurlTransport(configuration)
    }

    private func url(_ port: UInt16, _ path: String = "/") -> URL {
        URL("https://localhost:\(port)\(path)")
    }

    @Test(.fault(89), arguments: Version.allCases, [1, 2])
    func `The other requests to the host use other connections`(
        _ version: Version,
        _ hanging: Int
    ) async throws {
        let (nginx, port) = try await startNginx(version)
        let relay = try DelayingForwarder(to: port, holding: hanging)
        let transport = try transport()
        let stuck = Task { try await transport.send(HTTPRequest(.get, url(relay.port))) }
        try await until { relay.connections == 1 }
        let start = ContinuousClock.now
        // With two hanging connections, the request that opens the second one hangs as well.
        let others = (1..<10).map { _ in Task { try await transport.send(HTTPRequest(.get, url(relay.port))).status } }
        try await until { backend.totalRequests == 10 - hanging }
        #expect(start.duration(to: .now) < .seconds(15), "half of the connect timeout")
        #expect(!stuck.isCancelled)
        stuck.cancel()
        relay.passOn()
        for other in others { #expect(try await other.value == 200) }
        #expect(await stuck.result.failureKind == .cancelled)
        #expect(backend.totalRequests == 9)
        nginx.stop()
    }

    @Test func `A slow handshake is not started again`() async throws {
        let (nginx, port) = try await startNginx(.http2)
        let relay = try DelayingForwarder(to: port, holding: 1)
        let transport = try transport()
        let slow = Task { try await transport.send(HTTPRequest(.get, url(relay.port))).status }
        try await until { relay.connections == 1 }
        let other = Task { try await transport.send(HTTPRequest(.get, url(relay.port))).status }
        // The other request no longer waits for the first connection, and the time for that has passed for both.
        #expect(try await other.value == 200)
        relay.passOn()
        #expect(try await slow.value == 200)
        #expect(relay.connections == 2)
        nginx.stop()
    }

    @Test(arguments: Version.allCases)
    func `A slow request is processed once, however long others wait for a connection`(
        _ version: Version
    ) async throws {
        let (nginx, port) = try await startNginx(version)
        let transport = try transport()
        let responses = try await withThrowingTaskGroup(of: HTTPResponse.self) { group in
            for number in 0..<20 {
                let request = HTTPRequest(.post, url(port, "/slow"), body: .data(Data("\(number)".utf8)))
                group.addTask { try await transport.send(request) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(responses.map(\.status) == Array(repeating: 200, count: 20))
        #expect(responses.allSatisfy { $0.isMultiplexed == (version == .http2) })
        #expect(backend.requests.compactMap { Int($0.text) }.sorted() == Array(0..<20))
        nginx.stop()
    }
}

extension Result {
    fileprivate var failureKind: TransportError.Kind? {
        guard case .failure(let error) = self else { return nil }
        return (error as? TransportError)?.kind
    }
}
#endif
