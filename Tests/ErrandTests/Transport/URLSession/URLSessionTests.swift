import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

/// The keys that were accepted are those of the process, so each test has other keys.
@Suite("The record of accepted and refused certificates", .timeLimit(.minutes(10)))
struct TrustRecordTests {
    private static func record(_ hosts: String..., key: UInt8) throws -> TrustRecord {
        let pin = "sha256//" + Data(repeating: key, count: 32).base64EncodedString()
        return TrustRecord(try PinnedKeys(Dictionary(uniqueKeysWithValues: hosts.map { ($0, [pin]) })))
    }

    private static func host(_ name: String) throws -> HostName { try #require(HostName(URL("https://\(name)"))) }

    @Test
    func `A response is refused until a server with a pinned key was accepted`() throws {
        let record = try Self.record("a.test", "b.test", key: 201)
        let url = URL("https://A.test./goods")
        let error = #expect(throws: TransportError.self) { try record.checkResponse(of: url) }
        #expect(error?.kind == .security)
        record.accept(try Self.host("c.test"))
        #expect(throws: TransportError.self) { try record.checkResponse(of: url) }
        record.accept(try Self.host("b.test"))
        try record.checkResponse(of: url)
        try Self.record("d.test", key: 201).checkResponse(of: URL("https://d.test"))
    }

    @Test
    func `The response of a host without pinned keys is not refused`() throws {
        try Self.record("a.test", key: 202).checkResponse(of: URL("https://b.test"))
        try TrustRecord().checkResponse(of: URL("http://a.test"))
    }

    @Test
    func `A refusal is that of its host until another certificate is accepted`() throws {
        let record = try Self.record("a.test", key: 203)
        record.refuse(try Self.host("a.test"), for: TransportError(.security, "another key"))
        #expect(record.refusal(of: URL("https://A.test:8443/x"))?.reason == "another key")
        #expect(record.refusal(of: URL("https://b.test")) == nil)
        record.accept(try Self.host("a.test"))
        #expect(record.refusal(of: URL("https://a.test")) == nil)
    }
}

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

    @Test func `libcurl's message about a proxy server, which may have its password, is not shown`() {
        let error = Self.error(NSURLErrorUnknown, "Unsupported proxy scheme for 'htp://user:s3cret@127.0.0.1:9'")
        #if canImport(FoundationNetworking)
        #expect(!"\(error) \(error.reason) \(error.underlying as Any)".contains("s3cret"))
        #endif
        #expect(error.kind == .connectionLost)
    }

    @Test(arguments: [(-9816, TransportError.Kind.cannotConnect), (-9806, .cannotConnect), (-9813, .security)])
    func `A connection that is closed during the handshake is no refusal of the certificate`(
        _ code: Int,
        _ kind: TransportError.Kind
    ) {
        for isUnderlying in [false, true] {
            let info: [String: Any] = ["_kCFStreamErrorCodeKey": code]
            let cause = NSError(domain: "kCFErrorDomainCFNetwork", code: -1200, userInfo: info)
            let error = NSError(
                domain: NSURLErrorDomain,
                code: NSURLErrorSecureConnectionFailed,
                userInfo: isUnderlying ? [NSUnderlyingErrorKey: cause] : info
            )
            #expect(TransportError.kind(ofURLSessionError: error, readsText: false) == kind)
        }
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

@Suite("Headers through URLSession", .limitedConcurrency, .timeLimit(.minutes(10)))
struct URLSessionHeadersTests {
    @Test(
        "a joined Set-Cookie is split where a cookie starts",
        arguments: [
            ["a=1"], ["a=1", "b=2"], ["a=1; Expires=Wed, 21 Oct 2037 07:28:00 GMT", "b=2; Path=/"],
            ["a=1; Expires=Wed, 21-Oct-37 07:28:00 GMT", "b=2"], ["a=", "b="], ["a=x,y=z", "b=2"], ["a=1, 2; Path=/"],
            ["__Host-a=1", "[b]=2", "c=\"q, r\""], ["a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT"], [""], ["a"],
        ]
    )
    func cookies(lines: [String]) {
        let headers = HTTPHeaders(urlSessionFields: ["Set-Cookie": lines.joined(separator: ", ")])
        #expect(headers.values("Set-Cookie") == lines)
    }

    @Test func `A name that is no token is omitted`() {
        let names = ["X-A", "X A", "", "X\"A", "X-\u{0}", "X-A ", "\u{E4}", "X:A", "!#$%&'*+-.^_`|~"]
        let fields = Dictionary(uniqueKeysWithValues: names.map { ($0, "1") })
        #expect(HTTPHeaders(urlSessionFields: fields).map(\.name) == ["!#$%&'*+-.^_`|~", "X-A"])
    }

    @Test("any other field is not split, and the lines are sorted by name")
    func others() {
        let headers = HTTPHeaders(urlSessionFields: ["Vary": "a, b=c", "Age": "1", "Link": "<a>; rel=b, <c>; rel=d"])
        #expect(
            headers.map { "\($0.name): \($0.value)" } == ["Age: 1", "Link: <a>; rel=b, <c>; rel=d", "Vary: a, b=c"]
        )
    }

    @Test("lines of one name are joined, those of a cookie with a semicolon")
    func joined() throws {
        let request = try Self.request(["X-A": "1", "Cookie": "a=1", "x-a": " 2\t", "cookie": "b=2"])
        let fields = try request.urlSessionFields(bodyBytes: 0)
        #expect(fields["x-a"] == "1,2" && fields["X-A"] == nil)
        #expect(fields["cookie"] == "a=1; b=2")
    }

    @Test("the length is that of the body, whatever the request's header is")
    func length() throws {
        let request = try Self.request(["Content-Length": "9", "content-length": "8", "Host": "evil.example"])
        #expect(try request.urlSessionFields(bodyBytes: 3)["Content-Length"] == "3")
        #expect(try request.urlSessionFields(bodyBytes: 0)["Content-Length"] == nil)
        #expect(try request.urlSessionFields(bodyBytes: 0)["Host"] == nil)
    }

    @Test("a value that is not UTF-8 is refused")
    func bytes() throws {
        var request = try Self.request([:])
        request.headers.append(HTTPField("x7Kq9Zt4Lm2Vb8Nc1Hd", bytes: [0xFF]))
        let error = #expect(throws: TransportError.self) { try request.urlSessionFields(bodyBytes: 0) }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.reason.contains("x7Kq9") == false, "a name may be a secret")
    }

    private static func request(_ headers: HTTPHeaders) throws -> HTTPRequest {
        try HTTPRequest(.post, #require(URL(string: "http://127.0.0.1/")), headers: headers)
    }
}

@Suite("The length of a response", .limitedConcurrency, .timeLimit(.minutes(10)))
struct ResponseLengthTests {
    @Test("equal lengths are one length")
    func equalLengths() throws {
        #expect(try Self.length(["Content-Length": "3"]) == 3)
        #expect(try Self.length(["Content-Length": "3, 3 "]) == 3)
        #expect(try Self.length(["content-length": "3", "Content-Length": "3"]) == 3)
    }

    @Test("different lengths are refused")
    func contradiction() {
        for headers: HTTPHeaders in [["Content-Length": "3, 2"], ["Content-Length": "3", "content-length": "x"]] {
            #expect(throws: TransportError.self) { try Self.length(headers) }
        }
    }

    @Test("the length is unknown without a plain body")
    func noBody() throws {
        #expect(try Self.length(["Content-Length": "3"], to: .head) == nil)
        #expect(try Self.length(["Content-Length": "3"], status: 304) == nil)
        #expect(try Self.length(["Content-Length": "3", "Content-Encoding": "gzip"]) == nil)
        #expect(try Self.length(["Content-Length": "3", "Transfer-Encoding": "chunked"]) == nil)
        #expect(try Self.length([:]) == nil)
    }

    private static func length(
        _ headers: HTTPHeaders,
        status: Int = 200,
        to method: HTTPMethod = .get
    ) throws -> Int64? {
        try URLSessionExchangeState.decodedLength(headers, hasBody: method.allowsResponseBody(status))
    }
}

@Suite("The state of an exchange through URLSession")
struct URLSessionExchangeStateTests {
    @Test func `A second head, as of multipart-x-mixed-replace, is refused`() throws {
        let request = HTTPRequest(.get, URL("http://a.example/"))
        var state = URLSessionExchangeState(request, ExchangeClock())
        #expect(try state.receive(status: 200, headers: ["Content-Length": "3"], for: request) == 3)
        #expect(state.receive(storedBytes: 3)?.completedBytes == 3)
        let error = #expect(throws: TransportError.self) {
            _ = try state.receive(status: 200, headers: ["Content-Length": "4"], for: request)
        }
        #expect(error?.kind == .badResponse)
        guard case .success(let response) = state.outcome(of: nil) else { return #expect(Bool(false)) }
        #expect(response.headers["Content-Length"] == "3")
    }

    @Test(arguments: [200, 302])
    func `A body that ends early is an error, also if the session reports none`(_ status: Int) throws {
        let request = HTTPRequest(.get, URL("http://a.example/"))
        var state = URLSessionExchangeState(request, ExchangeClock())
        #expect(try state.receive(status: status, headers: ["Content-Length": "5"], for: request) == 5)
        _ = state.receive(storedBytes: 3)
        let error: TransportError? = if case .failure(let error) = state.outcome(of: nil) { error } else { nil }
        // The session may leave out the body of a redirect that it does not follow.
        #expect(error?.kind == (status == 200 ? .connectionLost : nil))
    }
}

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
