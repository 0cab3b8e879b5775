#if os(Linux)
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("libcurl's ABI", .limitedConcurrency, .timeLimit(.minutes(10)))
struct CurlOptionTests {
    @Test("option numbers are those that libcurl reports")
    func numbers() {
        let numbers = Self.numbers + Self.sizes + Self.texts + Self.pointers + Self.functions
        for (name, number) in numbers {
            let reported = CurlLibrary.optionNumber(named: name)
            #expect(reported == number || reported == Self.isUnknown && Self.newNames.contains(name), "\(name)")
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
        CurlOption<Int>.connectTimeoutMS, .freshConnect, .http09Allowed, .httpContentDecoding, .httpGet, .httpVersion,
        .maxAgeConn, .noBody, .noSignal, .pathAsIs, .pipeWait, .protocols, .proxySSLVersion, .quickExit, .sslVersion,
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
    private static let functions =
        [CurlOption<CurlTransferFunction>.headerFunction, .readFunction, .writeFunction].map(pair)
        + [CurlOption<CurlSeekFunction>.seekFunction].map(pair)
        + [CurlOption<CurlPrereqFunction>.prereqFunction].map(pair)

    private static func pair<Value>(_ option: CurlOption<Value>) -> Pair {
        (option.name, option.number)
    }
}
#endif
