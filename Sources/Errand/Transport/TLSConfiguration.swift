public import Foundation

/// The settings with which a transport authenticates the server and the client.
///
/// The server's name is always verified against its certificate; this cannot be disabled.
public struct TLSConfiguration: Sendable {
    /// Certificates in PEM form.
    public enum Certificates: Sendable {
        /// All certificates of this file, which is read when the transport is created.
        case file(URL)
        /// All certificates of this text.
        case data(Data)
    }

    /// A version of TLS.
    public enum Version: Sendable {
        /// TLS 1.2 (RFC 5246).
        case v1_2
        /// TLS 1.3 (RFC 8446).
        case v1_3
    }

    /// Certificate authorities that are trusted in addition to those of the system; none by default.
    ///
    /// A certificate that is cut off or no DER is refused when the transport is created. On Linux, one that is damaged inside makes
    /// every `https` request fail with ``TransportError/Kind/security``. There, additional authorities are also refused if the file
    /// of the system's authorities is neither in a usual place nor named by the environment variable `SSL_CERT_FILE`. On Linux,
    /// they also apply to an `https` proxy server.
    ///
    /// On Apple's platforms, App Transport Security requires an exception for the host in the app's `Info.plist`
    /// (`NSExceptionAllowsInsecureHTTPLoads`), which also allows other authorities than the system's.
    public var additionalAuthorities: Certificates?
    /// For each host, the public keys of which the server must have one; none by default.
    ///
    /// A name is a host or an address, or `*.` and a host for all of its subdomains at any depth; the longest name that matches
    /// applies, also to the target of a redirect. It applies to every notation: upper case, percent-encoding, a trailing dot,
    /// an international name in ASCII, an address in other numbers. Each key is `sha256//` and, in Base64, the SHA-256 digest
    /// of its SubjectPublicKeyInfo (RFC 7469 section 2.4); a host has at least one. The certificate is verified as well.
    ///
    /// A request to a host with keys fails with ``TransportError/Kind/security`` if its URL is not `https`. A host that is not
    /// named here may have any key. But if any host is named, a host that cannot be compared with the names fails in the same
    /// way: a percent-encoded name that is not ASCII, or a name with an empty label, such as `api.example.com..`.
    ///
    /// The transport of Linux sends requests to a host with keys over HTTP/2 or HTTP/1.1, even with
    /// ``TransportConfiguration/assumesHTTP3Capable``, because older versions of libcurl do not compare keys over HTTP/3. The
    /// keys do not apply to a proxy server.
    ///
    /// On Apple's platforms, a connection that resumes a TLS session of another `URLSession` of the process may not be checked;
    /// send every request to such a host through a transport that has its keys.
    ///
    /// ```swift
    /// var tls = TLSConfiguration()
    /// tls.pinnedPublicKeys["api.example.com"] = ["sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="]
    /// ```
    public var pinnedPublicKeys: [String: [String]] = [:]
    /// The client certificate, sent if a server of one of its origins requests it; none by default.
    ///
    /// On Apple's platforms, a connection may resume a TLS session of another `URLSession` of the process, for which the server
    /// does not ask again: after a change of the identity, it may take the client for the former one. End the session on the
    /// server, or use another host.
    public var clientIdentity: ClientIdentity?
    /// The oldest accepted version of TLS; TLS 1.2 by default.
    ///
    /// On Linux, it also applies to an `https` proxy server. `URLSession` on Linux refuses another value, and does not set the
    /// default: the version is that of its library.
    public var minimumVersion = Version.v1_2

    /// Creates the default configuration.
    public init() {}
}

extension TLSConfiguration.Certificates: RedactedDescription {
    /// The path of the file without names that look like tokens, or the number of bytes.
    public var description: String {
        switch self {
        case .file(let file): "file \(Redactor.path(of: file))"
        case .data(let data): "\(data.count) bytes"
        }
    }
}

extension TLSConfiguration.Certificates {
    /// The bytes of each certificate (DER); other lines of the text are ignored (RFC 7468 section 5.2).
    func decoded() throws(TransportError) -> [Data] {
        var certificates: [Data] = []
        // The lines of the certificate that has begun.
        var lines: String?
        let text = String(decoding: try self.text().withoutByteOrderMark, as: UTF8.self)
        for line in text.split(whereSeparator: \.isNewline) {
            switch (line.trimmingCharacters(in: .whitespaces), lines) {
            case ("-----BEGIN CERTIFICATE-----", nil): lines = ""
            case ("-----END CERTIFICATE-----", let complete?):
                guard let bytes = Data(base64Encoded: complete), !bytes.isEmpty else {
                    throw .invalidAuthority(number: certificates.count + 1)
                }
                certificates.append(bytes)
                lines = nil
            case (let other, nil) where other.contains("-----BEGIN") && other.hasSuffix("CERTIFICATE-----"):
                throw .invalidAuthority(number: certificates.count + 1)
            case (let part, let former?): lines = former + part
            default: break
            }
        }
        guard lines == nil else { throw .invalidAuthority(number: certificates.count + 1) }
        guard !certificates.isEmpty else { throw .refusal(of: Self.setting, "it contains no certificate in PEM form") }
        return certificates
    }

    fileprivate static let setting = "tls.additionalAuthorities"

    private func text() throws(TransportError) -> Data {
        switch self {
        case .data(let text): return text
        case .file(let file):
            guard file.isFileURL, let text = FileManager.default.contents(atPath: file.path) else {
                throw .refusal(of: Self.setting, "the file \(Redactor.path(of: file)) cannot be read")
            }
            return text
        }
    }
}

extension TransportError {
    /// `number` counts from 1.
    static func invalidAuthority(number: Int) -> TransportError {
        .refusal(of: TLSConfiguration.Certificates.setting, "certificate \(number) is damaged or of another kind")
    }
}
