import Foundation

/// The checked ``TLSConfiguration/pinnedPublicKeys``, by host.
struct PinnedKeys: Sendable {
    private static let setting = "tls.pinnedPublicKeys"
    static let prefix = "sha256//"

    private var hosts: [String: [String]] = [:]
    private var subdomains: [String: [String]] = [:]

    init() {}

    init(_ pins: [String: [String]]) throws(TransportError) {
        for (name, keys) in pins {
            guard !keys.isEmpty else {
                throw Self.refusal(of: name, "it has no key; remove the name if the host may have any key")
            }
            guard keys.allSatisfy(Self.isValid) else {
                throw Self.refusal(of: name, "a key is not sha256// and the Base64 of 32 bytes (44 characters)")
            }
            try add(keys, for: name)
        }
    }

    var isEmpty: Bool { hosts.isEmpty && subdomains.isEmpty }

    /// Any key if there are none; throws for a URL that is not `https`, and for a host that cannot be compared with the names.
    func keys(for url: URL) throws(TransportError) -> [String] {
        guard !isEmpty else { return [] }
        guard let host = HostName(url) else {
            throw TransportError(
                .security,
                "the host cannot be compared with the names of pinned public keys; use ASCII without empty labels"
            )
        }
        let keys = keys(for: host)
        guard keys.isEmpty || url.scheme?.lowercased() == "https" else {
            throw TransportError(.security, "the public key of \(host.text) is pinned, which requires an https URL")
        }
        return keys
    }

    func keys(for host: HostName) -> [String] {
        hosts[host.text] ?? host.parents.lazy.compactMap { subdomains[$0] }.first ?? []
    }

    var lists: Set<[String]> { Set(hosts.values).union(subdomains.values) }

    /// Throws when `key` is `nil` although the host must have one.
    func check(_ key: String?, of host: HostName) throws(TransportError) {
        let keys = keys(for: host)
        guard !keys.isEmpty else { return }
        guard let key, keys.contains(key) else {
            throw TransportError(.security, "the server's public key is not one that is pinned for \(host.text)")
        }
    }

    private mutating func add(_ keys: [String], for name: String) throws(TransportError) {
        let hasSubdomains = name.hasPrefix("*.")
        guard let host = Self.host(String(name.dropFirst(hasSubdomains ? 2 : 0))), !hasSubdomains || !host.isAddress
        else {
            throw Self.refusal(of: name, "it is neither a host nor `*.` and a host, without scheme, port and path")
        }
        let table = hasSubdomains ? \PinnedKeys.subdomains : \.hosts
        guard self[keyPath: table].updateValue(keys, forKey: host.text) == nil else {
            throw Self.refusal(of: name, "the host has another notation here; use one")
        }
    }

    private static func host(_ name: String) -> HostName? {
        let isBare = name.contains(":") && !name.hasPrefix("[")
        let text = isBare ? "[\(name)]" : name
        guard !text.contains(where: { "/?#@%\\".contains($0) }), !text.contains(":") || text.hasSuffix("]"),
            let host = URL(string: "https://\(text)").flatMap(HostName.init)
        else { return nil }
        let labels = host.text.split(separator: ".", omittingEmptySubsequences: false)
        return host.isAddress || labels.allSatisfy(\.isLabel) ? host : nil
    }

    /// Only one form of Base64 equals the server's.
    private static func isValid(_ key: String) -> Bool {
        guard key.hasPrefix(prefix), let digest = Data(base64Encoded: String(key.dropFirst(prefix.count))) else {
            return false
        }
        return digest.count == 32 && prefix + digest.base64EncodedString() == key
    }

    private static func refusal(of name: String, _ reason: String) -> TransportError {
        // A URL by mistake may have a password.
        .refusal(of: "\(setting)[\"\(name.contains("@") ? Redactor.hidden(name.utf8) : name)\"]", reason)
    }
}

extension Substring {
    /// RFC 1123 section 2.1, or with an underscore, which servers have as well.
    fileprivate var isLabel: Bool {
        !isEmpty && utf8.allSatisfy { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
    }
}
