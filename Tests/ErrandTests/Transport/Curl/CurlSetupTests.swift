#if os(Linux)
import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Settings that libcurl rejects", .timeLimit(.minutes(10)))
struct CurlSetupTests {
    /// Longer than any text that libcurl accepts for an option.
    static let tooLong = String(repeating: "x", count: 8_000_001)

    /// A setting without which a transport must not be created.
    enum Setting: String, CaseIterable {
        case proxy = "PROXY"
        case password = "KEYPASSWD"

        func apply(to configuration: inout TransportConfiguration) throws {
            let tooLong = CurlSetupTests.tooLong
            switch self {
            case .proxy: configuration.proxy = .url(try #require(URL(string: "http://a.test/\(tooLong)")))
            case .password:
                let certificate = URL(fileURLWithPath: #filePath)
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
    func `A transport is not created without a required setting`(_ setting: Setting) throws {
        var configuration = TransportConfiguration()
        try setting.apply(to: &configuration)
        let error = #expect(throws: TransportError.self) { try CurlTransport(configuration) }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.reason == "libcurl \(CurlLibrary.version) rejects the value of \(setting.rawValue)")
    }
}
#endif
