#if os(Linux)
import Foundation
import Testing

@testable import Errand

@Suite("What libcurl does not take", .timeLimit(.minutes(10)))
struct CurlSetupTests {
    /// Longer than any text that libcurl takes for an option.
    static let tooLong = String(repeating: "x", count: 8_000_001)

    /// What a transport must not go without.
    enum Setting: String, CaseIterable {
        case pinnedPublicKeys = "PINNEDPUBLICKEY"
        case unixSocket = "UNIX_SOCKET_PATH"
        case proxy = "PROXY"
        case password = "KEYPASSWD"

        func apply(to configuration: inout TransportConfiguration) throws {
            let tooLong = CurlSetupTests.tooLong
            switch self {
            case .pinnedPublicKeys: configuration.tls.pinnedPublicKeys = ["sha256//\(tooLong)"]
            case .unixSocket: configuration.unixSocketPath = tooLong
            case .proxy: configuration.proxy = .url(try #require(URL(string: "http://a.test/\(tooLong)")))
            case .password:
                let certificate = URL(fileURLWithPath: "/client.pem")
                let origins = [URL("https://a.test")]
                configuration.tls.clientIdentity = ClientIdentity(
                    certificate: certificate,
                    password: tooLong,
                    origins: origins
                )
            }
        }
    }

    @Test(arguments: Setting.allCases)
    func `A transport that would have to go without is not made`(_ setting: Setting) throws {
        var configuration = TransportConfiguration()
        try setting.apply(to: &configuration)
        let error = #expect(throws: TransportError.self) { try CurlTransport(configuration) }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.reason == "libcurl \(CurlLibrary.version) does not take what is set as \(setting.rawValue)")
    }
}
#endif
