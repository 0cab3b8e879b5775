public import Foundation

/// One request as it is sent: a value, which may be sent any number of times.
public struct HTTPRequest: Sendable {
    /// Where the body of a 2xx response goes; a transport keeps other bodies in memory.
    public enum Destination: Sendable, Equatable {
        /// In ``HTTPResponse/body``.
        case memory
        /// In this file, which replaces an existing file. The sender must remove it if there is no complete response.
        ///
        /// A proxy does that, and changes the file only at the end. If you use a transport without a proxy, remove the file
        /// yourself.
        case file(URL)
        /// In a new file in this folder, with the name that the response's `Content-Disposition` has (RFC 6266), or else the URL.
        ///
        /// The name is made safe: it is one component of a path, is not hidden, and replaces no file; a second "a.pdf" is "a
        /// 2.pdf". An empty file takes the name just before the complete one replaces it; a process that is killed in between
        /// leaves it. For requests of a proxy; a transport receives ``file(_:)`` instead.
        case folder(URL)
        /// In a sink, which receives the body while it arrives; a transport that returns the body in memory is correct as well.
        case stream(HTTPBodySink)
    }

    private struct Contents: Sendable {
        var method: HTTPMethod { didSet { isValidated = false } }
        var url: URL { didSet { isValidated = false } }
        var headers: HTTPHeaders { didSet { isValidated = false } }
        var body: HTTPBody { didSet { isValidated = false } }
        var destination: Destination = .memory
        var timeout: Duration? = .seconds(60)
        var deadline: Duration?
        var limits = HTTPLimits()
        var redirectPolicy = RedirectPolicy.follow
        var observer: (@Sendable (TransportEvent) -> Void)?
        var didReceiveHead: (@Sendable (_ status: Int, _ headers: HTTPHeaders) -> Void)?
        var isValidated = false
        var allowsCellularAccess = true { didSet { isValidated = false } }
    }

    // Boxed, because an asynchronous function reserves memory for each request that it uses.
    @Boxed private var contents: Contents

    /// The request method.
    public var method: HTTPMethod {
        get { contents.method }
        set { contents.method = newValue }
    }
    /// The absolute `http` or `https` URL.
    public var url: URL {
        get { contents.url }
        set { contents.url = newValue }
    }
    /// The header lines; the transport writes `Host`, `Content-Length` and `Transfer-Encoding` itself.
    public var headers: HTTPHeaders {
        get { contents.headers }
        _modify { yield &contents.headers }
    }
    /// The body.
    public var body: HTTPBody {
        get { contents.body }
        set { contents.body = newValue }
    }
    /// Where the response's body is stored; memory by default.
    public var destination: Destination {
        get { contents.destination }
        set { contents.destination = newValue }
    }
    /// The longest time without a byte sent or received, connecting included; 60 s by default.
    ///
    /// `nil` is no limit. Bytes of a header line, or of a chunk's length, count when the line is complete. Those of an
    /// upload count when the system has taken them, and with libcurl also while it sends them to a server that
    /// is known to have no HTTP/2.
    public var timeout: Duration? {
        get { contents.timeout }
        set { contents.timeout = newValue }
    }
    /// The longest time that the whole exchange may take, redirects included; `nil`, the default, is no limit.
    public var deadline: Duration? {
        get { contents.deadline }
        set { contents.deadline = newValue }
    }
    /// The largest response that is accepted; a body of 32 MiB in memory and header lines of 256 KiB by default.
    public var limits: HTTPLimits {
        get { contents.limits }
        set { contents.limits = newValue }
    }
    /// Which redirects are followed; at most 20 by default.
    ///
    /// A proxy applies this policy; a transport follows no redirects.
    public var redirectPolicy: RedirectPolicy {
        get { contents.redirectPolicy }
        set { contents.redirectPolicy = newValue }
    }

    /// Whether the request may use a cellular network; true by default.
    ///
    /// Only Apple's platforms support `false`; elsewhere, such a request fails with `invalidRequest`.
    public var allowsCellularAccess: Bool {
        get { contents.allowsCellularAccess }
        set { contents.allowsCellularAccess = newValue }
    }

    /// Receives the events of the exchange; `nil` by default.
    ///
    /// Called on any thread, in order, each event at most once, and not after the transport has returned, which
    /// may be soon after the ending of a load that is cancelled. Must not block. A transport that cannot report an event does not.
    /// A request with an observer shares no exchange.
    package var observer: (@Sendable (TransportEvent) -> Void)? {
        get { contents.observer }
        set { contents.observer = newValue }
    }

    /// Receives status and headers of the final (not 1xx) response when they have arrived; `nil` by default.
    ///
    /// Called on any thread before the body is passed on; again if the request is sent again. Must not block. A transport that
    /// cannot report them does not.
    package var didReceiveHead: (@Sendable (_ status: Int, _ headers: HTTPHeaders) -> Void)? {
        get { contents.didReceiveHead }
        set { contents.didReceiveHead = newValue }
    }

    /// Creates a request.
    public init(_ method: HTTPMethod = .get, _ url: URL, headers: HTTPHeaders = [:], body: HTTPBody = .empty) {
        contents = Contents(method: method, url: url, headers: headers, body: body)
    }

    var isResponseStreamed: Bool {
        if case .stream = destination { true } else { false }
    }

    var isValidated: Bool { contents.isValidated }

    /// So that `validate()` returns at once until method, URL, headers or body change; an invalid request is not reported here.
    mutating func validateAhead() {
        contents.isValidated = (try? validate()) != nil
    }
}

/// What a transport reports of an exchange before its response is complete.
package enum TransportEvent: Sendable {
    /// The last byte of the request has been handed to the system.
    ///
    /// Not reported when the head of the response is complete before that, as with a 413, nor when libcurl sends the request again.
    /// `URLSession` reports it for a request without a body together with ``head(status:headers:)``.
    case sent
    /// An interim (1xx) response has been received, which is not that of the request; not reported by `URLSession`.
    case interim(status: Int, headers: HTTPHeaders)
    /// Status and headers of the final (not 1xx) response have been received.
    case head(status: Int, headers: HTTPHeaders)
}

extension HTTPRequest {
    /// Checks everything that could forge or split a request, before a byte is sent.
    ///
    /// The method and header names are tokens (RFC 9110 section 5.6.2), and the method is neither `CONNECT` nor `PRI`; header
    /// values contain no control character other than TAB (section 5.5); the URL is an absolute `http` or `https` URL with a host
    /// and without credentials; a `HEAD` request has no body; a file in which to store the response has a file URL.
    package func validate() throws(TransportError) {
        guard !isValidated else { return }
        if let fault { throw TransportError(.invalidRequest, fault) }
        for field in headers { try field.validate() }
    }

    private var fault: String? {
        if method.rawValue.isEmpty || !method.rawValue.utf8.allSatisfy(\.isToken) { return "the method is not a token" }
        // The tunnel of a proxy server (RFC 9110 section 9.3.6), and a connection of HTTP/2 (RFC 9113 section 3.4).
        if ["CONNECT", "PRI"].contains(method.rawValue) {
            return "the method \(method) makes a connection; only the transport does"
        }
        if method == .head, !body.isEmpty { return "a HEAD request cannot have a body" }
        let scheme = (url.scheme ?? "").utf8
        if !scheme.equalsIgnoringCase("http"), !scheme.equalsIgnoringCase("https") {
            return "the URL is neither http nor https"
        }
        if url.host(percentEncoded: false)?.isEmpty != false { return "the URL has no host" }
        if !(0...65535).contains(url.port ?? 0) { return "the URL's port is not a TCP port" }
        if url.user != nil || url.password != nil { return "the URL contains credentials; send them in a header" }
        if case .file(let target) = destination, !target.isFileURL { return "the file to write has no file URL" }
        #if !canImport(Darwin)
        if !allowsCellularAccess { return "only Apple's platforms know allowsCellularAccess = false" }
        #endif
        return nil
    }
}

extension HTTPField {
    fileprivate func validate() throws(TransportError) {
        guard !name.isEmpty, name.utf8.allSatisfy(\.isToken) else {
            throw TransportError(.invalidRequest, "a header name is not a token")
        }
        guard !value.utf8.contains(where: \.isControlExceptTab) else {
            let shown = Redactor.shared.name(ofHeader: name)
            throw TransportError(.invalidRequest, "the value of the header \(shown) contains a control character")
        }
    }
}

/// Which events of one exchange may still be reported to the observer of its request.
///
/// Each is reported at most once, and ``TransportEvent/sent`` not after the head: a server may respond before it has received the
/// whole request.
struct ReportedEvents {
    private(set) var awaitsSent: Bool
    private(set) var awaitsHead: Bool

    init(_ request: HTTPRequest) {
        awaitsSent = request.observer != nil
        awaitsHead = awaitsSent
    }

    mutating func addSent() -> Bool { exchange(&awaitsSent, with: false) }

    mutating func addHead() -> Bool {
        awaitsSent = false
        return exchange(&awaitsHead, with: false)
    }
}
