#if os(Linux)
import Testing

@testable import Errand

@Suite("Codes of libcurl")
struct CurlCodeTests {
    @Test(arguments: [16, 18, 52, 55, 56, 92] as [Int32])
    func `A connection that ends during a response is lost, whatever the version of HTTP`(_ code: Int32) {
        #expect(CurlCode(rawValue: code).errorKind(osErrno: 0) == .connectionLost)
    }
}
#endif
