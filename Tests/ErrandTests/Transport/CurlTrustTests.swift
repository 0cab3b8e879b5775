#if os(Linux)
import Foundation
import Testing

@testable import Errand

@Suite("The file of additional authorities", .timeLimit(.minutes(10)))
struct CurlTrustTests {
    private static let certificate = Data("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".utf8)
    private let configuration: TLSConfiguration

    init() {
        var configuration = TLSConfiguration()
        configuration.additionalAuthorities = .data(Self.certificate)
        self.configuration = configuration
    }

    @Test func `It has no name that anybody could remove, and no started program has it open`() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            setenv("TMPDIR", folder.url.path, 1)
            let trust = try CurlTrust(CurlTrustTests().configuration)
            #expect(try folder.names.isEmpty)
            let path = try #require(trust.path)
            #expect(FileManager.default.contents(atPath: path)?.suffix(Self.certificate.count) == Self.certificate)
            let number = try #require(URL(fileURLWithPath: path).pathComponents.last.flatMap { CInt($0) })
            #expect(fcntl(number, F_GETFD) & FD_CLOEXEC != 0)
        }
    }

    @Test func `Where open files are not shown, it has a name until it is not needed`() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            setenv("TMPDIR", folder.url.path, 1)
            var trust: CurlTrust? = try CurlTrust(CurlTrustTests().configuration, openFiles: "/nowhere")
            let path = try #require(trust?.path)
            #expect(try folder.names == [URL(fileURLWithPath: path).lastPathComponent])
            trust = nil
            #expect(try folder.names.isEmpty)
        }
    }

    @Test func `Without a place for it there is no transport`() async {
        await #expect(processExitsWith: .success) {
            setenv("TMPDIR", "/nowhere", 1)
            let error = #expect(throws: TransportError.self) { try CurlTrust(CurlTrustTests().configuration) }
            #expect(error?.kind == .storage)
        }
    }
}
#endif
