import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Origins", .fault(57), .timeLimit(.minutes(10)))
struct OriginTests {
    @Test(arguments: [
        ("http://a.test", "http://a.test/x?y#z"), ("http://a.test", "HTTP://A.TEST:80/"),
        ("https://a.test:443", "https://a.test"),
        ("http://a.test:080", "http://a.test"), ("http://a.test:", "http://a.test"),
        ("http://[::1]:80", "http://[::1]"),
        ("http://u:p@a.test", "http://a.test"), ("http://%61.test", "http://a.test"),
        ("http://ü.test", "http://%C3%BC.test"), ("http://ü.test", "http://xn--tda.test"),
    ])
    func `Case, default ports, user info and encodings of a name are ignored`(_ one: String, _ other: String) {
        #expect(URL(one).hasSameOrigin(as: URL(other)))
        #expect(URL(other).hasSameOrigin(as: URL(one)))
    }

    @Test(arguments: [
        "https://a.test", "http://a.test:443", "http://a.test:8080", "http://a.test.", "http://sub.a.test",
        "http://a.test.evil.test", "http://a.test@evil.test", "http://evil.test/a.test", "http://evil.test?@a.test",
        "http://a.test%2Eevil.test", "http://a.test%00.evil.test", "http://a.test%2F@evil.test", "http://aa.test",
        "http://a_test", "http://xn--a-test", "http://a.test:99999999999999999999", "http://a.test:65616",
        "ftp://a.test",
        "http:a.test", "file:///a.test", "javascript:a.test",
    ])
    func `Every other difference makes another origin`(_ other: String) {
        #expect(!URL("http://a.test").hasSameOrigin(as: URL(other)))
        #expect(!URL(other).hasSameOrigin(as: URL("http://a.test")))
    }

    @Test func `URLs without a host have no common origin`() {
        #expect(!URL("file:///x").hasSameOrigin(as: URL("file:///x")))
        #expect(!URL("data:,x").hasSameOrigin(as: URL("data:,x")))
    }

    @Test(arguments: [
        ("https://me:s3cret@a.test:8443/s3cret?s3cret#s3cret", "https://a.test:8443"),
        ("http://A.test:80/s3cret", "http://a.test"),
        ("http://[::1]:81/s3cret", "http://[::1]:81"), ("javascript:s3cret", "javascript:"), ("data:,s3cret", "data:"),
    ])
    func `An origin is printed without user info, path, query and fragment`(_ url: String, _ text: String) {
        #expect(URL(url).originText == text)
    }
}
