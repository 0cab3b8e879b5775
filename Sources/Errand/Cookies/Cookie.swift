public import Foundation

/// A cookie as the jar stores it (RFC 6265bis section 5.7).
///
/// Name and value are bytes; nothing in them is decoded or unquoted.
public struct Cookie: Sendable, Equatable {
    /// When a browser would send the cookie with cross-site requests.
    ///
    /// An app has no sites, so the jar stores the attribute for information only and sends the cookie in any case.
    package enum SameSite: String, Sendable, CaseIterable {
        /// With same-site requests only.
        case strict = "Strict"
        /// With same-site requests, and with cross-site navigation to a top-level page.
        case lax = "Lax"
        /// With every request; such a cookie must be ``Cookie/isSecure``.
        case none = "None"
    }

    /// Empty for a nameless cookie.
    package let nameBytes: [UInt8]
    package let valueBytes: [UInt8]
    /// The host or domain in lower case, without a leading dot; an international name in its `xn--` form.
    public let domain: String
    /// Whether the cookie is sent to ``domain`` only, and not to its subdomains.
    package internal(set) var isHostOnly: Bool
    /// The cookie is sent for this path and for paths below it.
    public let path: String
    /// The expiry time; `nil` for a session cookie.
    public internal(set) var expires: Date?
    /// When the cookie was first stored; an update of its value does not change it.
    public internal(set) var created: Date
    /// Whether the cookie is sent over secure connections only.
    package let isSecure: Bool
    /// Whether the cookie is hidden from scripts.
    package let isHTTPOnly: Bool
    /// The `SameSite` attribute; `nil` when it was missing or unknown.
    package let sameSite: SameSite?
    /// A logout ends what was set before it.
    var updated: CookieTimestamp

    /// The name as text; bytes that are not UTF-8 are replaced.
    public var name: String { String(decoding: nameBytes, as: UTF8.self) }
    /// The value as text; bytes that are not UTF-8 are replaced.
    public var value: String { String(decoding: valueBytes, as: UTF8.self) }
}

extension Cookie: RedactedDescription {
    /// The name, domain and path, without the value, which may be a secret, and without names that look like tokens.
    public var description: String {
        "\(Redactor.shared.name(name))=… (\(isHostOnly ? "" : ".")\(domain)\(URLRedaction.path(path)))"
    }
}

extension Cookie {
    /// The identity of a cookie: storing a cookie replaces the one with the same key (RFC 6265bis section 5.7, step 23).
    struct Key: Hashable, Sendable {
        let domain: String
        let isHostOnly: Bool
        let path: String
        let name: [UInt8]
    }

    var key: Key { Key(domain: domain, isHostOnly: isHostOnly, path: path, name: nameBytes) }

    func isExpired(at date: Date) -> Bool {
        guard let expires else { return false }
        return expires <= date
    }

    /// Makes no key to compare.
    func hasKey(_ key: Key) -> Bool {
        nameBytes == key.name && isHostOnly == key.isHostOnly && path == key.path && domain == key.domain
    }

    /// Their times may differ.
    func hasSameContent(as other: Cookie) -> Bool {
        var other = other
        other.created = created
        other.updated = updated
        other.expires = expires
        return self == other
    }
}

/// When a cookie was last set, or the last logout was, in microseconds since 1970.
struct CookieTimestamp: Equatable, Comparable, Sendable {
    /// Earlier than every date.
    static let never = CookieTimestamp(microseconds: .min)

    let microseconds: Int64

    /// Clamps the number, so that ``next`` cannot overflow.
    init(microseconds: Int64) {
        self.microseconds = max(-1 << 62, min(microseconds, 1 << 62))
    }

    init(_ date: Date) {
        let microseconds = (date.timeIntervalSince1970 * 1e6).rounded(.down)
        self.init(microseconds: Int64(max(-1e18, min(microseconds, 1e18))))
    }

    var next: CookieTimestamp { CookieTimestamp(microseconds: microseconds + 1) }

    static func < (one: Self, other: Self) -> Bool { one.microseconds < other.microseconds }
}
