public import Foundation

/// One cookie as the jar keeps it (RFC 6265bis section 5.7).
///
/// Name and value are bytes; nothing in them is decoded or unquoted.
public struct Cookie: Sendable, Equatable {
    /// When a browser would send the cookie across sites.
    ///
    /// An app has no sites, so the jar keeps the attribute for others to read and sends the cookie in any case.
    public enum SameSite: String, Sendable {
        /// Only within the site.
        case strict = "Strict"
        /// Within the site and when the user navigates to it.
        case lax = "Lax"
        /// Everywhere; such a cookie must be ``Cookie/isSecure``.
        case none = "None"
    }

    /// The bytes of the name; empty for a nameless cookie.
    public let nameBytes: [UInt8]
    /// The bytes of the value.
    public let valueBytes: [UInt8]
    /// The host or domain in lower case, without a leading dot; an international name in its `xn--` form.
    public let domain: String
    /// Whether the cookie goes to ``domain`` alone, not to the hosts below it.
    public internal(set) var isHostOnly: Bool
    /// The path at or below which the cookie is sent.
    public let path: String
    /// When the cookie ends; `nil` for a session cookie.
    public internal(set) var expires: Date?
    /// When the cookie was first stored; an update of its value does not change it.
    public internal(set) var created: Date
    /// Whether the cookie is sent over secure connections only.
    public let isSecure: Bool
    /// Whether the cookie is kept from scripts.
    public let isHTTPOnly: Bool
    /// The `SameSite` attribute; `nil` when there was none or an unknown one.
    public let sameSite: SameSite?
    /// When the cookie was last set, which decides between two processes that have both set it.
    var updated: CookieStamp

    /// The name as text; bytes that are not UTF-8 are replaced.
    public var name: String { String(decoding: nameBytes, as: UTF8.self) }
    /// The value as text; bytes that are not UTF-8 are replaced.
    public var value: String { String(decoding: valueBytes, as: UTF8.self) }
}

extension Cookie: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The name, domain and path, without the value, which may be a secret.
    public var description: String { "\(name)=… (\(isHostOnly ? "" : ".")\(domain)\(path))" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// A mirror without the value, so that `dump` does not print it either.
    public var customMirror: Mirror { Mirror(self, children: ["cookie": description]) }
}

extension Cookie {
    /// What tells one cookie from another (RFC 6265bis section 5.7, step 23).
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

    func has(_ key: Key) -> Bool {
        nameBytes == key.name && isHostOnly == key.isHostOnly && path == key.path && domain == key.domain
    }

    /// Whether both are the same except for their times.
    func hasSameContent(as other: Cookie) -> Bool {
        var other = other
        other.created = created
        other.updated = updated
        other.expires = expires
        return self == other
    }
}

/// When a cookie was last set or removed.
///
/// Of two updates of one cookie, the one with the later stamp counts. Microseconds since 1970 by the clock of the process, but always later than the stamp that the process knew before, so
/// that no update is lost when the clock is set back.
struct CookieStamp: Hashable, Comparable, Sendable {
    /// Before every update.
    static let never = CookieStamp(unchecked: .min)
    private static let limit: Int64 = 1 << 62

    let microseconds: Int64

    /// Limits the number, so that there is always a next one.
    init(microseconds: Int64) {
        self.init(unchecked: max(-Self.limit, min(microseconds, Self.limit)))
    }

    init(_ date: Date) {
        let microseconds = (date.timeIntervalSince1970 * 1e6).rounded(.down)
        self.init(unchecked: Int64(max(-1e18, min(microseconds, 1e18))))
    }

    private init(unchecked microseconds: Int64) {
        self.microseconds = microseconds
    }

    var next: CookieStamp { CookieStamp(unchecked: microseconds + 1) }

    static func < (one: Self, other: Self) -> Bool { one.microseconds < other.microseconds }
}
