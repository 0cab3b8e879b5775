import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

/// On Linux, only the checks of the settings run.
@Suite("The settings of URLSession on Apple's platforms", .timeLimit(.minutes(10)))
struct URLSessionRefusalTests {
    struct Change: Sendable, CustomStringConvertible {
        let description: String
        let reason: String
        let apply: @Sendable (inout TransportConfiguration) -> Void

        init(
            _ description: String,
            _ reason: String = "",
            _ apply: @escaping @Sendable (inout TransportConfiguration) -> Void
        ) {
            (self.description, self.reason, self.apply) = (description, reason, apply)
        }
    }

    private static func identity(_ file: String, key: String? = nil) -> ClientIdentity {
        ClientIdentity(
            certificate: URL(filePath: "/c/\(file)"),
            privateKey: key.map { URL(filePath: "/c/\($0)") },
            password: "s3cret",
            origins: [URL("https://a.test")]
        )
    }

    static let accepted = [
        Change("nothing") { _ in },
        Change("connections") { ($0.connectionsPerHost, $0.connections) = (2, 3) },
        Change("no proxy server") { $0.proxy = .none },
        Change("a proxy server") { $0.proxy = .url(URL("http://me:s3cret@proxy.test:3128")) },
        Change("TLS 1.3") { $0.tls.minimumVersion = .v1_3 },
        Change("authorities") { $0.tls.additionalAuthorities = .data(Data()) },
        Change("networks") {
            $0.allowsCellularAccess = false
            $0.allowsExpensiveNetworkAccess = false
            $0.allowsConstrainedNetworkAccess = false
        },
        Change("a closure for the session") { $0.configureSession = { _ in } },
        Change("HTTP/3") { $0.assumesHTTP3Capable = true },
        Change("a p12 file") { $0.tls.clientIdentity = identity("client.p12") },
        Change("a PFX file") { $0.tls.clientIdentity = identity("client.PFX") },
    ]

    @Test(arguments: accepted)
    func `A setting that Apple's platforms have is accepted`(_ change: Change) throws {
        var configuration = TransportConfiguration()
        change.apply(&configuration)
        try configuration.validateForAppleURLSession()
    }

    static let refused = [
        Change("connectTimeout", "keep the default") { $0.connectTimeout = .seconds(5) },
        Change("idleConnectionAge", "keep the default") { $0.idleConnectionAge = .seconds(5) },
        Change("unixSocketPath", "keep the default") { $0.unixSocketPath = "/tmp/s" },
        Change("proxy", "socks5h") { $0.proxy = .url(URL("socks4://me:s3cret@proxy.test")) },
        Change("tls.clientIdentity", "openssl pkcs12 -export") { $0.tls.clientIdentity = identity("client.pem") },
        Change("tls.clientIdentity", "PKCS #12") { $0.tls.clientIdentity = identity("client.p12", key: "client.key") },
    ]

    @Test(arguments: refused)
    func `A setting that Apple's platforms do not have is refused, and named`(_ change: Change) throws {
        var configuration = TransportConfiguration()
        change.apply(&configuration)
        let error = #expect(throws: TransportError.self) { try configuration.validateForAppleURLSession() }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.reason.contains("the setting \(change.description) ") == true)
        #expect(error?.reason.contains(change.reason) == true)
        #expect(error?.reason.contains("s3cret") == false)
    }
}
