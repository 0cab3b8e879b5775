import Foundation

extension TransportError {
    /// Returns the error for a setting of a ``TransportConfiguration`` that a transport cannot apply.
    ///
    /// - Parameters:
    ///   - setting: The path of the property, such as `tls.clientIdentity`.
    ///   - reason: Why it cannot be applied, and what to do.
    /// - Returns: An error of the kind ``Kind/invalidRequest``.
    static func refusal(of setting: String, _ reason: String) -> TransportError {
        TransportError(.invalidRequest, "the setting \(setting) cannot be applied: \(reason)")
    }
}

extension TransportConfiguration {
    /// The longest path of a Unix socket, in bytes: `sun_path` of Linux, of which the last byte is 0; Darwin has 4 less.
    private static let longestSocketPath = 107
    private static let proxySchemes: Set = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]

    /// Checks what no transport can apply; ``PinnedKeys`` checks the pins.
    ///
    /// - Throws: ``TransportError/Kind/invalidRequest``, with the name of the setting.
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
        try validateProxy()
        if let path = unixSocketPath {
            guard (1...Self.longestSocketPath).contains(path.utf8.count), !path.utf8.contains(0) else {
                let reason = "the path is empty, or longer than \(Self.longestSocketPath) bytes, or contains NUL"
                throw .refusal(of: "unixSocketPath", reason)
            }
        }
        try tls.clientIdentity?.validate()
    }

    private func validateProxy() throws(TransportError) {
        guard case .url(let url) = proxy else { return }
        guard Self.proxySchemes.contains(url.scheme?.lowercased() ?? ""), url.host?.isEmpty == false else {
            let reason = "the URL needs a host and one of the schemes http, https, socks4, socks4a, socks5 and socks5h"
            throw .refusal(of: "proxy", reason)
        }
    }

    /// Checks that each of these settings has its default.
    ///
    /// - Throws: ``TransportError/Kind/invalidRequest``, with the name of the first that has not, and with `reason`.
    func validateDefaults(_ settings: [(name: String, isDefault: Bool)], _ reason: String) throws(TransportError) {
        if let setting = settings.first(where: { !$0.isDefault }) { throw .refusal(of: setting.name, reason) }
    }
}

extension ClientIdentity {
    /// Checks that there is an origin, that each is an `https` origin, and that the files can be read.
    ///
    /// - Throws: ``TransportError/Kind/invalidRequest``.
    fileprivate func validate() throws(TransportError) {
        let setting = "tls.clientIdentity"
        guard !origins.isEmpty else { throw .refusal(of: setting, "it has no origin, so no server would receive it") }
        guard origins.allSatisfy({ Origin($0)?.scheme == "https" }) else {
            throw .refusal(of: setting, "an origin is not an https URL with a host")
        }
        for file in [certificate, privateKey].compactMap(\.self) {
            guard file.isFileURL, FileManager.default.isReadableFile(atPath: file.path) else {
                throw .refusal(of: setting, "the file \(Redactor.path(of: file)) cannot be read")
            }
        }
    }
}
