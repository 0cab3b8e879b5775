import Foundation

extension TLSConfiguration {
    /// The beginning of each pinned public key.
    static let pinPrefix = "sha256//"

    /// Checks that each pinned public key has the form of ``pinnedPublicKeys``.
    ///
    /// - Throws: ``TransportError/Kind/invalidRequest``, with the name of the host.
    func validatePinnedPublicKeys() throws(TransportError) {
        for (host, pins) in pinnedPublicKeys.sorted(by: { $0.key < $1.key }) {
            guard pins.allSatisfy(Self.isPin) else {
                let form = "\(Self.pinPrefix) and the Base64 of a SHA-256 digest"
                throw .refusal(of: "tls.pinnedPublicKeys", "a key of \(host) is not \(form)")
            }
        }
    }

    /// Checks that `pin`, that of the key of the server of `url`, is one of the pinned keys of its host.
    ///
    /// - Throws: ``TransportError/Kind/security`` when it is not, and when it is `nil` although the host has pinned keys.
    func checkPin(_ pin: String?, of url: URL) throws(TransportError) {
        let pins = pinnedPublicKeys(for: url)
        guard !pins.isEmpty else { return }
        guard let pin, pins.contains(pin) else {
            let host = Origin(url)?.host ?? ""
            throw TransportError(.security, "the server's public key is not one that is pinned for \(host)")
        }
    }

    private static func isPin(_ text: String) -> Bool {
        text.hasPrefix(pinPrefix) && Data(base64Encoded: String(text.dropFirst(pinPrefix.count)))?.count == 32
    }
}

extension URL {
    /// Creates the URL of an HTTPS server, whose host may be an IPv6 address without brackets; `nil` for an invalid host.
    init?(serverOf host: String, port: Int) {
        let isAddress = host.contains(":") && !host.hasPrefix("[")
        guard !host.isEmpty else { return nil }
        self.init(string: "https://\(isAddress ? "[\(host)]" : host):\(port)")
    }
}
