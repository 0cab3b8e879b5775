import Foundation

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

    /// ``PinnedKeys`` checks the pins.
    func validate() throws(TransportError) {
        for (name, count) in [("connectionsPerHost", connectionsPerHost), ("connections", connections)] {
            guard count > 0 else { throw .refusal(of: name, "\(count) is less than one connection") }
        }
        guard connectTimeout > .zero else { throw .refusal(of: "connectTimeout", "it is not positive") }
        guard idleConnectionAge >= .seconds(1) else {
            throw .refusal(of: "idleConnectionAge", "it is less than one second")
        }
        guard idleConnectionAge.components.attoseconds == 0 else {
            throw .refusal(of: "idleConnectionAge", "it has a fraction of a second")
        }
        if case .url(let url) = proxy {
            guard Self.proxySchemes.contains(url.scheme?.lowercased() ?? ""), url.host?.isEmpty == false else {
                let schemes = "http, https, socks4, socks4a, socks5 and socks5h"
                throw .refusal(of: "proxy", "the URL needs a host and one of the schemes \(schemes)")
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
