#if os(Linux)
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand

@Suite(
    "TLS",
    .limitedConcurrency,
    .timeLimit(.minutes(10)),
    .enabled(if: TestAuthority.isAvailable, "openssl is not installed")
)
struct CurlTLSTests {
    private static let authority = Result { try TestAuthority() }
    private let authority: TestAuthority

    init() throws {
        authority = try Self.authority.get()
    }

    private func start(_ identity: String = "server", _ options: String...) throws -> (TestProgram, URL) {
        try authority.serve(identity, ["-www"] + options)
    }

    private func status(_ url: URL, _ configure: (inout TLSConfiguration) throws -> Void) async throws -> Int {
        var configuration = TransportConfiguration()
        configuration.tls.additionalAuthorities = .file(authority.certificate)
        try configure(&configuration.tls)
        return try await CurlTransport(configuration).send(HTTPRequest(.get, url)).status
    }

    private func failure(_ url: URL, _ configure: (inout TLSConfiguration) throws -> Void = { _ in }) async
        -> TransportError?
    {
        await #expect(throws: TransportError.self) { try await status(url, configure) }
    }

    @Test func `A private authority is trusted besides the system's`() async throws {
        let (program, url) = try start()
        #expect(try await status(url) { _ in } == 200)
        let text = try Data(contentsOf: authority.certificate)
        #expect(try await status(url) { $0.additionalAuthorities = .data(text) } == 200)
        _ = program
    }

    @Test func `An unknown authority is refused`() async throws {
        let (program, url) = try start()
        let error = await failure(url) { $0.additionalAuthorities = nil }
        #expect(error?.kind == .security)
        #expect(error?.reason.contains("certificate") == true)
        _ = program
    }

    @Test func `A certificate for another name is refused`() async throws {
        let (program, url) = try start("other")
        #expect(await failure(url)?.kind == .security)
        _ = program
    }

    @Test func `A pinned key is accepted and any other refused`() async throws {
        let (program, url) = try start()
        let (pin, other) = (try authority.pin("server"), try authority.pin("other"))
        #expect(try await status(url) { $0.pinnedPublicKeys["127.0.0.1"] = [pin] } == 200)
        #expect(try await status(url) { $0.pinnedPublicKeys["127.0.0.1"] = [other, pin] } == 200)
        #expect(await failure(url) { $0.pinnedPublicKeys["127.0.0.1"] = [other] }?.kind == .security)
        _ = program
    }

    @Test func `A server with only an older version of TLS is refused`() async throws {
        let (program, url) = try start("server", "-tls1_2")
        #expect(try await status(url) { _ in } == 200)
        let error = await failure(url) { $0.minimumVersion = .v1_3 }
        #expect(error?.kind == .cannotConnect)
        _ = program
    }

    @Test func `A server without TLS is a connection error`() async throws {
        let server = try FixtureServer.start { _, _ in .onAccept(.write("HTTP/1.1 400 Bad Request\r\n\r\n"), .close) }
        let url = try #require(URL(string: "https://127.0.0.1:\(server.port)/"))
        #expect(await failure(url)?.kind == .cannotConnect)
    }

    @Test func `Invalid authorities and pins are refused at once`() {
        var configuration = TransportConfiguration()
        configuration.tls.additionalAuthorities = .data(Data("nothing".utf8))
        #expect(throws: TransportError.self) { try CurlTransport(configuration) }
        configuration.tls.additionalAuthorities = .file(URL(fileURLWithPath: "/nowhere"))
        #expect(throws: TransportError.self) { try CurlTransport(configuration) }
        configuration.tls.additionalAuthorities = nil
        configuration.tls.pinnedPublicKeys["127.0.0.1"] = ["/etc/passwd"]
        #expect(throws: TransportError.self) { try CurlTransport(configuration) }
    }
}
#endif
