import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Errors of URLSession", .limitedConcurrency, .timeLimit(.minutes(10)))
struct URLSessionErrorsTests {
    @Test("a specific code determines the kind", arguments: Self.codes)
    func code(code: Int, kind: TransportError.Kind) {
        #expect(Self.error(code, "certificate").kind == kind)
    }

    @Test("libcurl's message determines the kind when the code is not specific", arguments: Self.texts)
    func text(text: String, kind: TransportError.Kind) {
        #expect(Self.error(NSURLErrorUnknown, text).kind == kind)
    }

    @Test("the error of a host without an address names the host")
    func noAddress() {
        #expect(Self.error(NSURLErrorCannotFindHost, "late").reason == "no address for the host shop.test")
    }

    @Test("the underlying error contains no URL")
    func underlying() {
        let error = Self.error(NSURLErrorTimedOut, "late")
        #expect(error.reason == "late")
        #expect((error.underlying as NSError?)?.code == NSURLErrorTimedOut)
        #expect((error.underlying as NSError?)?.userInfo.keys.sorted() == [NSLocalizedDescriptionKey])
    }

    @Test
    func `A cancellation by the session is the refusal of the server, or else a lost connection`() {
        let refusal = TransportError(.security, "another key")
        let refused = Self.error(NSURLErrorCancelled, "cancelled", refusal: refusal)
        #expect(refused.kind == .security)
        #expect(refused.reason == "another key")
        #expect(refused.isURLSessionCancellation)
        #expect(Self.error(NSURLErrorTimedOut, "late", refusal: refusal).kind == .timeout)
        #expect(!Self.error(NSURLErrorTimedOut, "late").isURLSessionCancellation)
    }

    @Test(arguments: Self.appleCodes)
    func `On Apple's platforms, the code alone determines the kind`(
        _ domain: String,
        _ code: Int,
        _ kind: TransportError.Kind
    ) {
        let info = [NSLocalizedDescriptionKey: "the certificate is too large"]
        let error = NSError(domain: domain, code: code, userInfo: info)
        #expect(TransportError.kind(ofURLSessionError: error, readsText: false) == kind)
    }

    private static let appleCodes: [(String, Int, TransportError.Kind)] = [
        (NSURLErrorDomain, -1002, .invalidRequest), (NSURLErrorDomain, -1011, .badResponse),
        (NSURLErrorDomain, -1012, .security), (NSURLErrorDomain, -1013, .security),
        (NSURLErrorDomain, -1100, .invalidRequest), (NSURLErrorDomain, NSURLErrorUnknown, .connectionLost),
        (NSURLErrorDomain, 310, .connectionLost), (NSPOSIXErrorDomain, -1001, .connectionLost),
        ("kCFErrorDomainCFNetwork", -1001, .timeout), ("kCFErrorDomainCFNetwork", 120, .cannotConnect),
        ("kCFErrorDomainCFNetwork", 306, .cannotConnect), ("kCFErrorDomainCFNetwork", 310, .cannotConnect),
        ("kCFErrorDomainCFNetwork", 311, .cannotConnect), ("kCFErrorDomainCFNetwork", 303, .connectionLost),
    ]

    private static func error(_ code: Int, _ text: String, refusal: TransportError? = nil) -> TransportError {
        let url = URL(string: "http://127.0.0.1/?token=secret")
        let request = HTTPRequest(.get, URL("http://shop.test/?token=secret"))
        let info = [NSLocalizedDescriptionKey: text, NSURLErrorFailingURLErrorKey: url as Any]
        return TransportError(
            urlSessionError: NSError(domain: NSURLErrorDomain, code: code, userInfo: info),
            of: request,
            refusal: refusal
        )
    }

    private static let codes: [(Int, TransportError.Kind)] = [
        (NSURLErrorCannotConnectToHost, .cannotConnect), (NSURLErrorCannotFindHost, .hostNotFound),
        (NSURLErrorDNSLookupFailed, .hostNotFound),
        (NSURLErrorNotConnectedToInternet, .noNetwork), (NSURLErrorNetworkConnectionLost, .connectionLost),
        (NSURLErrorTimedOut, .timeout), (NSURLErrorCancelled, .connectionLost), (NSURLErrorBadURL, .invalidRequest),
        (NSURLErrorServerCertificateUntrusted, .security), (NSURLErrorCannotDecodeContentData, .badResponse),
    ]

    private static let texts: [(String, TransportError.Kind)] = [
        ("SSL certificate problem: unable to get local issuer certificate", .security),
        ("SSL: no alternative certificate subject name matches target host name 'localhost'", .security),
        ("SSL certificate problem: certificate has expired", .security),
        ("OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to localhost:1", .cannotConnect),
        ("OpenSSL/3.0.22: error:0A00010B:SSL routines::wrong version number", .cannotConnect),
        ("OpenSSL SSL_read: error:0A000126:SSL routines::unexpected eof while reading, errno 0", .connectionLost),
        ("OpenSSL SSL_read: Connection reset by peer, errno 104", .connectionLost),
        ("Recv failure: Connection reset by peer", .connectionLost),
        ("transfer closed with 997 bytes remaining to read", .connectionLost),
        ("transfer closed with outstanding read data remaining", .connectionLost),
        ("Empty reply from server", .connectionLost),
        ("Received HTTP/0.9 when not allowed", .badResponse),
        ("Unsupported HTTP version (9.9) in response", .badResponse),
        ("Failed writing header", .badResponse), ("Header without colon", .badResponse),
        ("Nul byte in header", .badResponse), ("Invalid Content-Length: value", .badResponse),
        ("Illegal or missing hexadecimal sequence in chunked-encoding", .badResponse),
        ("Error while processing content unencoding: incorrect header check", .badResponse),
        ("Unrecognized content encoding type. libcurl understands deflate, gzip content encodings.", .badResponse),
        ("Out of memory", .responseTooLarge), ("A value or data field grew larger than allowed", .responseTooLarge),
        ("Too large response headers: 307207 > 307200", .responseTooLarge), ("unsupported URL", .invalidRequest),
        ("something that no version of libcurl has said so far", .connectionLost),
    ]
}
