public import Foundation

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

/// The settings for a transport's connections; fixed when the transport is created.
///
/// The settings are the same on every platform, and none is silently ignored. Creating a transport with an invalid value, or with
/// a setting that the transport cannot apply, throws ``TransportError/Kind/invalidRequest`` with the name of the setting. On
/// Linux, the contents of the files and the password of ``TLSConfiguration/clientIdentity`` are checked later: if they are
/// invalid, requests to the identity's origins fail.
public struct TransportConfiguration: Sendable {
    /// The proxy server for the requests.
    public enum Proxy: Sendable {
        /// The proxy server of the environment variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, all but the
        /// first also in upper case; on Apple's platforms, that of the system's settings. The transport of Linux uses no proxy
        /// server if none of the first three is set when it is created; otherwise, it reads the variables for each request, and
        /// refuses a user or a password with a control character. It ignores an entry of `no_proxy` with a port.
        case environment
        /// This proxy server; the URL has a host and the scheme `http`, `https`, `socks4`, `socks4a`, `socks5` or `socks5h`, no
        /// path, and may contain user and password. Apple's platforms support only `http`, `https` and `socks5h`.
        case url(URL)
        /// No proxy server.
        case none
    }

    /// The maximum number of connections of an ``APIProxy`` to one host, at least 1; 16 by default.
    ///
    /// For a host that supports HTTP/2, one connection carries many requests; the transport of Linux opens another one whenever the
    /// server allows no more at a time, beyond this number as well. Login requests (``BaseAPIRequest/isLoginRequest``),
    /// redirects to other hosts, and requests that are sent without an ``APIProxy`` use additional connections.
    public var connectionsPerHost = 16
    /// The maximum number of connections of an ``APIProxy`` to all hosts, at least 1; 128 by default.
    ///
    /// The transport of Linux keeps up to as many unused connections open; `URLSession` decides this itself.
    public var connections = 128
    /// The longest time for opening a connection, including TLS; must be more than 0, 30 s by default.
    ///
    /// `URLSession` has no such limit: a transport that uses it refuses any value but the default, and only
    /// ``HTTPRequest/timeout`` and ``HTTPRequest/deadline`` apply.
    public var connectTimeout: Duration = .seconds(30)
    /// The time after which an unused connection is no longer used for a new request, in whole seconds, at least 1; 50 s by
    /// default.
    ///
    /// A fraction of a second is refused. A transport that uses `URLSession` refuses any value but the default, and does not
    /// apply the default.
    ///
    /// Common servers and load balancers close an unused connection after 60 or 75 s. A request that is sent at that moment fails
    /// unless it is idempotent, so keep this value below the server's.
    public var idleConnectionAge: Duration = .seconds(50)
    /// The proxy server for the requests; the environment's by default.
    public var proxy = Proxy.environment
    /// The settings for authenticating the server and the client.
    public var tls = TLSConfiguration()
    /// The path of the Unix socket to connect to, for every host, at most 107 bytes; none by default.
    ///
    /// Without a proxy server: one of the environment is not used, and one in ``proxy`` is refused.
    public var unixSocketPath: String?
    /// Whether requests may use a cellular network; true by default.
    ///
    /// This setting and the next two correspond to those of `URLSessionConfiguration`; only `URLSession` on Apple's platforms can
    /// apply them.
    public var allowsCellularAccess = true
    /// Whether requests may use a network that the system considers expensive; true by default.
    public var allowsExpensiveNetworkAccess = true
    /// Whether requests may use a network in Low Data Mode; true by default.
    public var allowsConstrainedNetworkAccess = true
    /// Whether servers are assumed to support HTTP/3, even without an `Alt-Svc` header; false by default.
    ///
    /// This is a hint for `https` URLs: if a server does not respond over HTTP/3, the request is sent over HTTP/2 or HTTP/1.1.
    /// The transport of Linux requires libcurl 7.88 or later with HTTP/3, and does not use HTTP/3 for a host with
    /// ``TLSConfiguration/pinnedPublicKeys``.
    public var assumesHTTP3Capable = false
    /// Changes the configuration of a `URLSession` before it is created; `nil` by default.
    ///
    /// Use this for settings that have no property here, such as `networkServiceType`, `multipathServiceType`, and the
    /// `protocolClasses` of a debugging tool. Applied on Apple's platforms only; refused on Linux. Called for each session of the
    /// transport, after the other settings have been made. Changes to cookies, cache, stored credentials,
    /// `timeoutIntervalForRequest`, `timeoutIntervalForResource` and `httpMaximumConnectionsPerHost` have no effect, because they
    /// are set again afterwards; ``APIService/deadline`` limits a whole load. Put no secrets in `httpAdditionalHeaders`: the
    /// session sends them to every host, redirects to other origins included.
    public var configureSession: (@Sendable (URLSessionConfiguration) -> Void)?

    /// Creates the default configuration.
    public init() {}
}

extension TransportCapacity {
    init(of configuration: TransportConfiguration) {
        self.init()
        connectionsPerHost = configuration.connectionsPerHost
        connections = configuration.connections
    }
}

extension TransportConfiguration.Proxy: RedactedDescription {
    /// The kind of proxy, and the URL without user and password.
    public var description: String {
        switch self {
        case .environment: "environment"
        case .url(let url): "url(\(Redactor.shared.url(url.absoluteString)))"
        case .none: "none"
        }
    }
}

extension TransportConfiguration.Proxy {
    /// libcurl would use no proxy server.
    static func hasControlCharacter(inLoginOf url: String) -> Bool {
        url.lastIndex(of: "@").map { url[..<$0].contains(/%([01].|7[Ff])/) } ?? false
    }
}

extension TransportError {
    /// `setting` is the path of the property, such as `tls.clientIdentity`; `reason` says what to do as well.
    static func refusal(of setting: String, _ reason: String) -> TransportError {
        TransportError(.invalidRequest, "the setting \(setting) cannot be applied: \(reason)")
    }
}

// Each function throws the kind `invalidRequest`, with the name of the first setting that it refuses.
extension TransportConfiguration {
    /// In bytes: `sun_path` of Linux, of which the last byte is 0; Darwin has 4 less.
    private static let longestSocketPath = 107
    private static let proxySchemes: Set = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]

    #if os(Linux)
    func validateForCurl() throws(TransportError) {
        try validate()
        try requireDefaults(
            of: ["allowsCellularAccess", "allowsExpensiveNetworkAccess", "allowsConstrainedNetworkAccess"],
            "libcurl does not know the kind of a network; keep true on Linux"
        )
        try requireDefaults(of: ["configureSession"], "libcurl has no URLSession; keep nil on Linux")
        guard !assumesHTTP3Capable || CurlLibrary.supportsHTTP3 else {
            let reason = "libcurl \(CurlLibrary.version) does not support HTTP/3 with a fallback; keep false"
            throw .refusal(of: "assumesHTTP3Capable", reason)
        }
    }
    #endif

    func validateForURLSession() throws(TransportError) {
        try validate()
        #if canImport(FoundationNetworking)
        let reason = "URLSession on Linux has no such setting; keep the default, or install libcurl"
        try requireDefaults(of: changedSettings, reason)
        #else
        try validateForAppleURLSession()
        #endif
    }

    func validateForAppleURLSession() throws(TransportError) {
        let settings = ["connectTimeout", "idleConnectionAge", "unixSocketPath"]
        try requireDefaults(of: settings, "URLSession has no such setting; keep the default")
        _ = try proxy.server()
        try tls.clientIdentity?.validatePKCS12()
    }

    /// As libcurl counts it: 68 years are for ever.
    var wholeIdleConnectionAge: Duration { min(idleConnectionAge, .seconds(Int64(Int32.max))) }

    /// ``PinnedKeys`` checks the pins.
    func validate() throws(TransportError) {
        for (name, count) in [("connectionsPerHost", connectionsPerHost), ("connections", connections)] {
            guard count > 0 else { throw .refusal(of: name, "\(count) is less than one connection") }
        }
        guard connectTimeout > .zero else { throw .refusal(of: "connectTimeout", "it is not positive") }
        guard idleConnectionAge >= .seconds(1) else {
            throw .refusal(of: "idleConnectionAge", "it is less than one second")
        }
        guard wholeIdleConnectionAge.components.attoseconds == 0 else {
            throw .refusal(of: "idleConnectionAge", "it has a fraction of a second")
        }
        if case .url(let url) = proxy {
            guard Self.proxySchemes.contains(url.scheme?.lowercased() ?? ""), url.host?.isEmpty == false else {
                let schemes = "http, https, socks4, socks4a, socks5 and socks5h"
                throw .refusal(of: "proxy", "the URL needs a host and one of the schemes \(schemes)")
            }
            guard (1...65_535).contains(url.port ?? 1) else {
                throw .refusal(of: "proxy", "the port of the URL is not from 1 to 65535")
            }
            guard ["", "/"].contains(url.path), url.query == nil, url.fragment == nil else {
                throw .refusal(of: "proxy", "the URL has a path, a query or a fragment; it names a server alone")
            }
            guard !Proxy.hasControlCharacter(inLoginOf: url.absoluteString) else {
                throw .refusal(of: "proxy", "the user or the password has a control character")
            }
            guard url.scheme?.lowercased().hasPrefix("socks4") != true || url.password == nil else {
                throw .refusal(of: "proxy", "SOCKS 4 has no passwords; use socks5")
            }
        }
        if let path = unixSocketPath {
            guard (1...Self.longestSocketPath).contains(path.utf8.count), !path.utf8.contains(0) else {
                let reason = "the path is empty, or longer than \(Self.longestSocketPath) bytes, or contains NUL"
                throw .refusal(of: "unixSocketPath", reason)
            }
            if case .url = proxy {
                throw .refusal(of: "proxy", "a connection to the socket has none; remove it or unixSocketPath")
            }
        }
        try tls.clientIdentity?.validate()
    }

    private func requireDefaults(of settings: [String], _ reason: String) throws(TransportError) {
        let changed = changedSettings
        if let setting = settings.first(where: changed.contains) { throw .refusal(of: setting, reason) }
    }

    /// Without the settings that every transport applies.
    private var changedSettings: [String] {
        let standard = TransportConfiguration()
        let hasOtherProxy = if case .environment = proxy { false } else { true }
        let settings = [
            ("connectTimeout", connectTimeout != standard.connectTimeout),
            ("idleConnectionAge", idleConnectionAge != standard.idleConnectionAge), ("proxy", hasOtherProxy),
            ("unixSocketPath", unixSocketPath != nil), ("tls.additionalAuthorities", tls.additionalAuthorities != nil),
            ("tls.pinnedPublicKeys", !tls.pinnedPublicKeys.isEmpty), ("tls.clientIdentity", tls.clientIdentity != nil),
            ("tls.minimumVersion", tls.minimumVersion != standard.tls.minimumVersion),
            ("allowsCellularAccess", !allowsCellularAccess),
            ("allowsExpensiveNetworkAccess", !allowsExpensiveNetworkAccess),
            ("allowsConstrainedNetworkAccess", !allowsConstrainedNetworkAccess),
            ("assumesHTTP3Capable", assumesHTTP3Capable), ("configureSession", configureSession != nil),
        ]
        return settings.filter(\.1).map(\.0)
    }
}

extension ClientIdentity {
    var isPKCS12: Bool { ["p12", "pfx"].contains(certificate.pathExtension.lowercased()) }

    fileprivate func validate() throws(TransportError) {
        guard !origins.isEmpty else { throw refusal("it has no origin, so no server would receive it") }
        guard origins.allSatisfy({ Origin($0)?.scheme == "https" }) else {
            throw refusal("an origin is not an https URL with a host")
        }
        guard password?.utf8.contains(0) != true else { throw refusal("the password contains NUL") }
        guard !isPKCS12 || privateKey == nil else { throw refusal("a PKCS #12 file has its key; remove privateKey") }
        for file in [certificate, privateKey].compactMap(\.self) {
            guard file.isFileURL, FileManager.default.isReadableFile(atPath: file.path) else {
                throw refusal("the file \(Redactor.path(of: file)) cannot be read")
            }
        }
    }

    fileprivate func validatePKCS12() throws(TransportError) {
        guard isPKCS12, privateKey == nil else {
            // Not every version of the systems reads the algorithms that OpenSSL 3 selects.
            let command =
                "openssl pkcs12 -export -certpbe PBE-SHA1-3DES -keypbe PBE-SHA1-3DES -macalg sha1 "
                + "-in certificate.pem -inkey key.pem -out identity.p12"
            throw refusal("Apple's systems read only PKCS #12; make a file with \(command)")
        }
    }

    private func refusal(_ reason: String) -> TransportError { .refusal(of: "tls.clientIdentity", reason) }
}
