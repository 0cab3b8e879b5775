#if os(Linux)
import Foundation
import Testing

@testable import Errand

@Suite("libcurl's ABI", .takesTurns, .timeLimit(.minutes(10)))
struct CurlOptionTests {
    @Test("option numbers are the ones that libcurl itself tells", .enabled(if: canTell, "libcurl is older than 7.73"))
    func numbers() {
        let numbers = Self.numbers + Self.sizes + Self.texts + Self.pointers + Self.functions
        for (name, number) in numbers {
            let told = CurlLibrary.optionNumber(named: name)
            #expect(told == number || told == Self.isUnknown && Self.newNames.contains(name), "\(name)")
        }
    }

    @Test("libcurl is found and is not older than 7.68")
    func version() {
        #expect(CurlLibrary.unavailableReason == nil)
        #expect(CurlLibrary.versionNumber >= 0x07_4400)
        #expect(CurlLibrary.version.first?.isNumber == true)
        // The version that this run is to test, where it says so.
        let expected = ProcessInfo.processInfo.environment["ERRAND_LIBCURL"] ?? ""
        #expect(CurlLibrary.version.hasPrefix(expected))
    }

    /// The answer for an option that came after the libcurl of this machine, and for every one where it cannot tell.
    private static let isUnknown: Int32 = -1
    /// What came after the first libcurl that can tell.
    private static let newNames = ["PREREQDATA", "PREREQFUNCTION", "QUICK_EXIT"]
    private static let canTell = CurlLibrary.optionNumber(named: "URL") != isUnknown

    private typealias Pair = (name: String, number: Int32)

    private static let numbers = [
        CurlOption<Int>.acceptHTTP09, .connectTimeout, .contentDecoding, .get, .httpVersion, .leaveResolver, .noBody,
        .noSignal,
        .pathAsIs, .protocols, .suppressConnectHeaders, .tlsVersion, .idleConnectionAge, .freshConnection,
        .upload, .waitForMultiplex,
    ].map(pair)
    private static let sizes = [CurlOption<Int64>.postSize, .uploadSize].map(pair)
    private static let texts = [
        CurlOption<String>.acceptEncoding, .certificateAuthorityDirectory, .certificateAuthorityFile,
        .clientCertificate,
        .clientCertificateType, .clientKey, .clientKeyPassword, .method, .pinnedPublicKeys, .proxy, .requestTarget,
        .unixSocketPath,
        .url,
    ].map(pair)
    private static let pointers = [
        CurlOption<UnsafeRawPointer>.context, .errorBuffer, .headerContext, .headers, .post, .readContext,
        .readyContext, .seekContext, .writeContext,
    ].map(pair)
    private static let functions =
        [CurlOption<CurlTransferFunction>.header, .read, .write].map(pair)
        + [CurlOption<CurlSeekFunction>.seek].map(pair) + [CurlOption<CurlReadyFunction>.ready].map(pair)

    private static func pair<Value>(_ option: CurlOption<Value>) -> Pair {
        (option.name, option.number)
    }
}
#endif
