#if os(Linux)
import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("The file of additional authorities", .timeLimit(.minutes(10)))
struct CurlCABundleTests {
    private static let certificate = Data("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n".utf8)
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

    @Test(arguments: [
        "MAA=", "\n-----END CERTIFICATE-----",
        // Base64, but not a certificate: of another type, too short, too long, without a length.
        "AAAA\n-----END CERTIFICATE-----", "MIIB\n-----END CERTIFICATE-----", "MAAA\n-----END CERTIFICATE-----",
        "MIAA\n-----END CERTIFICATE-----",
    ])
    func `A damaged certificate is refused with its number when the transport is created`(_ damaged: String) {
        var configuration = TransportConfiguration()
        let text = "-----BEGIN CERTIFICATE-----\n\(damaged)"
        configuration.tls.additionalAuthorities = .data(Self.certificate + Data(text.utf8))
        let error = #expect(throws: TransportError.self) { try CurlTransport(configuration) }
        #expect(error?.reason == TransportError.invalidAuthority(number: 2).reason)
    }

    @Test func `Without the system's authorities, additional ones are refused`() async {
        await #expect(processExitsWith: .success) {
            unsetenv("SSL_CERT_FILE")
            let configuration = CurlCABundleTests().configuration
            let error = #expect(throws: TransportError.self) {
                try CurlCABundle(configuration, systemFiles: ["/nowhere"])
            }
            #expect(error?.kind == .invalidRequest)
            #expect(error?.reason.contains("tls.additionalAuthorities") == true)
            #expect(error?.reason.contains("SSL_CERT_FILE") == true)
            let unchanged = try CurlCABundle(TLSConfiguration(), systemFiles: [])
            #expect(unchanged.path == nil)
        }
    }

    @Test func `The file of SSL_CERT_FILE has the system's authorities where no other is found`() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            let file = folder.url.appending(path: "system.pem")
            try Data("system".utf8).write(to: file)
            setenv("SSL_CERT_FILE", file.path, 1)
            let bundle = try CurlCABundle(CurlCABundleTests().configuration, systemFiles: [])
            let path = try #require(bundle.path)
            #expect(FileManager.default.contents(atPath: path) == Data("system\n".utf8) + Self.certificate)
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
