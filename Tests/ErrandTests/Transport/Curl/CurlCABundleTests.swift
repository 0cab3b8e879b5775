#if os(Linux)
import Foundation
import Testing

@testable import Errand

@Suite("The file of additional authorities", .timeLimit(.minutes(10)))
struct CurlCABundleTests {
    private static let certificate = Data("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".utf8)
    private let configuration: TLSConfiguration

    init() {
        var configuration = TLSConfiguration()
        configuration.additionalAuthorities = .data(Self.certificate)
        self.configuration = configuration
    }

    @Test func `The file has no name by which it could be removed, and child processes do not inherit it`() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            setenv("TMPDIR", folder.url.path, 1)
            let bundle = try CurlCABundle(CurlCABundleTests().configuration)
            #expect(try folder.names.isEmpty)
            let path = try #require(bundle.path)
            #expect(FileManager.default.contents(atPath: path)?.suffix(Self.certificate.count) == Self.certificate)
            let number = try #require(URL(fileURLWithPath: path).pathComponents.last.flatMap { CInt($0) })
            #expect(fcntl(number, F_GETFD) & FD_CLOEXEC != 0)
        }
    }

    @Test func `Where open files are not listed, the file has a name until it is released`() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            setenv("TMPDIR", folder.url.path, 1)
            var bundle: CurlCABundle? = try CurlCABundle(CurlCABundleTests().configuration, openFiles: "/nowhere")
            let path = try #require(bundle?.path)
            #expect(try folder.names == [URL(fileURLWithPath: path).lastPathComponent])
            bundle = nil
            #expect(try folder.names.isEmpty)
        }
    }

    @Test func `Without a place for the file there is no transport`() async {
        await #expect(processExitsWith: .success) {
            setenv("TMPDIR", "/nowhere", 1)
            let error = #expect(throws: TransportError.self) { try CurlCABundle(CurlCABundleTests().configuration) }
            #expect(error?.kind == .storage)
        }
    }
}
#endif
