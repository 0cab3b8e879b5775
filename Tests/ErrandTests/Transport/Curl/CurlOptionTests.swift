#if os(Linux)
import Foundation
import Testing
import TestSupport
@testable import Errand
@testable import ErrandTestSupport

@Suite("libcurl's ABI", .limitedConcurrency, .timeLimit(.minutes(10)))
struct CurlOptionTests {
    @Test("option numbers are those that libcurl reports")
    func numbers() throws {
        let library = try #require(dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL))
        let symbol = try #require(dlsym(library, "curl_easy_option_by_name"))
        let option = unsafeBitCast(symbol, to: (@convention(c) (UnsafePointer<CChar>) -> OpaquePointer?).self)
        /// The second member of `struct curl_easyoption`, after the name.
        func number(_ name: String) -> Int32 {
            guard let option = option(name) else { return Self.isUnknown }
            return UnsafeRawPointer(option).load(fromByteOffset: MemoryLayout<OpaquePointer>.size, as: Int32.self)
        }
        let numbers = Self.numbers + Self.sizes + Self.texts + Self.pointers + Self.functions
        for (name, expected) in numbers {
            let reported = number(name)
            #expect(reported == expected || reported == Self.isUnknown && Self.newNames.contains(name), "\(name)")
        }
    }

    @Test("libcurl is found and is not older than 7.76")
    func version() {
        #expect(CurlLibrary.unavailableReason == nil)
        #expect(CurlLibrary.versionNumber >= 0x07_4C00)
        #expect(CurlLibrary.version.first?.isNumber == true)
        // The version that this run has to test, where it is set.
        let expected = ProcessInfo.processInfo.environment["ERRAND_LIBCURL"] ?? ""
        #expect(CurlLibrary.version.hasPrefix(expected))
    }

    /// The result for an option that this libcurl does not have.
    private static let isUnknown: Int32 = -1
    /// Options that are newer than the oldest libcurl.
    private static let newNames = ["PREREQDATA", "PREREQFUNCTION", "QUICK_EXIT"]

    private typealias Pair = (name: String, number: Int32)

    private static let numbers = [
        CurlOption<Int>.connectTimeoutMS, .forbidReuse, .freshConnect, .http09Allowed, .httpContentDecoding, .httpGet,
        .httpVersion, .maxAgeConn, .noBody, .noSignal, .pathAsIs, .pipeWait, .protocols, .proxySSLVersion, .quickExit,
        .sslVersion,
        .suppressConnectHeaders, .upload,
    ].map(pair)
    private static let sizes = [CurlOption<Int64>.inFileSizeLarge, .postFieldSizeLarge].map(pair)
    private static let texts = [
        CurlOption<String>.acceptEncoding, .caInfo, .caPath, .customRequest, .keyPasswd, .noProxy, .pinnedPublicKey,
        .proxy, .proxyCAInfo, .proxyCAPath, .requestTarget, .sslCert, .sslCertType, .sslKey, .unixSocketPath, .url,
    ].map(pair)
    private static let pointers = [
        CurlOption<UnsafeRawPointer>.errorBuffer, .headerData, .httpHeader, .postFields, .prereqData, .private,
        .readData, .seekData, .writeData,
    ].map(pair)
    private static let functions = [
        CurlOption<CurlFunction>.headerFunction, .prereqFunction, .readFunction, .seekFunction, .writeFunction,
    ].map(pair)

    private static func pair<Value>(_ option: CurlOption<Value>) -> Pair {
        (option.name, option.number)
    }
}

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
            case .proxy: configuration.proxy = .url(try #require(URL(string: "http://a.\(tooLong)")))
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
