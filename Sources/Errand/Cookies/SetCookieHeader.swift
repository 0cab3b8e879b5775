import Foundation

/// One parsed `Set-Cookie` header field (RFC 6265bis section 5.6).
struct SetCookieHeader {
    /// Later expiry times are shortened to it.
    static let maximumLifetime: TimeInterval = 400 * 86_400
    static let maximumPairLength = 4096
    private static let maximumAttributeLength = 1024

    let name: [UInt8]
    let value: [UInt8]
    private(set) var domain: [UInt8] = []
    private(set) var path: [UInt8]?
    private(set) var isSecure = false
    private(set) var isHTTPOnly = false
    private(set) var sameSite: Cookie.SameSite?
    private var expires: Date?
    private var maxAge: TimeInterval?

    init(parsing bytes: [UInt8]) throws(CookieRefusal) {
        guard !bytes.contains(where: \.isControlExceptTab) else { throw .controlCharacter }
        let parts = bytes.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
        (name, value) = Self.pair(parts.first ?? [])
        guard !name.isEmpty || !value.isEmpty else { throw .empty }
        guard name.count + value.count <= Self.maximumPairLength else { throw .tooLong }
        for part in parts.dropFirst() { parseAttribute(part) }
    }

    /// `Max-Age` takes precedence over `Expires`.
    func expiry(receivedAt date: Date) -> Date? {
        guard let requested = maxAge.map({ $0 > 0 ? date + $0 : .distantPast }) ?? expires else { return nil }
        return min(requested, date + Self.maximumLifetime)
    }

    static func canExpress(_ cookie: Cookie) -> Bool {
        let (name, value) = (cookie.nameBytes, cookie.valueBytes)
        return name.count + value.count <= maximumPairLength && cookie.satisfiesNamePrefix(hasPathAttribute: true)
            && !name.contains(UInt8(ascii: "=")) && !(name + value).contains(UInt8(ascii: ";"))
    }

    /// A pair without `=` is a value without a name.
    private static func pair(_ part: ArraySlice<UInt8>) -> (name: [UInt8], value: [UInt8]) {
        guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else { return ([], Array(part.trimmingBlanks)) }
        return (Array(part[..<equals].trimmingBlanks), Array(part[(equals + 1)...].trimmingBlanks))
    }

    private mutating func parseAttribute(_ part: ArraySlice<UInt8>) {
        let equals = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
        let name = part[..<equals].trimmingBlanks.map(\.asciiLowercased)
        let value = part[equals...].dropFirst().trimmingBlanks
        guard value.count <= Self.maximumAttributeLength else { return }
        switch String(decoding: name, as: UTF8.self) {
        case "expires": expires = CookieDate.parse(value) ?? expires
        case "max-age": maxAge = Self.seconds(value) ?? maxAge
        case "domain": domain = (value.first == UInt8(ascii: ".") ? value.dropFirst() : value).map(\.asciiLowercased)
        case "path": path = value.first == UInt8(ascii: "/") ? Array(value) : nil
        case "secure": isSecure = true
        case "httponly": isHTTPOnly = true
        case "samesite": sameSite = Cookie.SameSite.allCases.first { value.equalsIgnoringCase($0.rawValue.utf8) }
        default: break
        }
    }

    /// Digits after an optional minus; a number that is too large becomes infinity.
    private static func seconds(_ value: ArraySlice<UInt8>) -> TimeInterval? {
        let digits = value.first == UInt8(ascii: "-") ? value.dropFirst() : value
        guard !digits.isEmpty, digits.allSatisfy(\.isASCIIDigit) else { return nil }
        return TimeInterval(String(decoding: value, as: UTF8.self))
    }
}

// MARK: Validation

/// Why a `Set-Cookie` was not stored (RFC 6265bis sections 5.6 and 5.7).
package enum CookieRefusal: Error, Sendable, Equatable {
    case unsupportedURL
    /// Other than TAB.
    case controlCharacter
    /// Neither a name nor a value.
    case empty
    /// More than 4,096 bytes of name and value, or 1,024 of the path of the URL.
    case tooLong
    /// Neither the host of the request nor a parent domain of it.
    case foreignDomain
    /// Anyone may register a name under it.
    case publicSuffix
    case insecureConnection
    /// An insecure cookie that would hide a secure one of the same name.
    case shadowsSecureCookie
    case sameSiteNoneWithoutSecure
    /// A name that begins with `__Secure-` or `__Host-` without the attributes that this prefix requires.
    case prefix
    /// The jar was cleared after the request was sent.
    case cleared
    /// The response refuses a login that has been replaced, and the cookie has changed since the request was sent.
    case older
}

extension Cookie {
    /// Makes the checks of RFC 6265bis section 5.7 that need no other cookie.
    init(
        _ header: SetCookieHeader,
        from url: CookieURL,
        suffixes: PublicSuffixList,
        at date: Date
    ) throws(CookieRefusal) {
        let domain = try Self.domain(attribute: header.domain, host: url.host, suffixes: suffixes)
        self.init(
            nameBytes: header.name,
            valueBytes: header.value,
            domain: domain ?? url.host,
            isHostOnly: domain == nil,
            path: header.path.map { String(decoding: $0, as: UTF8.self) } ?? url.defaultPath,
            expires: header.expiry(receivedAt: date),
            // The precision of the file, so that the order of creation is the same after a restart.
            created: Date(timeIntervalSince1970: (date.timeIntervalSince1970 * 1000).rounded(.down) / 1000),
            isSecure: header.isSecure,
            isHTTPOnly: header.isHTTPOnly,
            sameSite: header.sameSite,
            updated: CookieTimestamp(date)
        )
        // As long as a `Path` attribute may be.
        guard path.utf8.count <= 1_024 else { throw .tooLong }
        guard !isSecure || url.isSecure else { throw .insecureConnection }
        guard sameSite != SameSite.none || isSecure else { throw .sameSiteNoneWithoutSecure }
        guard satisfiesNamePrefix(hasPathAttribute: header.path != nil) else { throw .prefix }
    }

    /// `nil` for a host-only cookie.
    private static func domain(
        attribute: [UInt8],
        host: String,
        suffixes: PublicSuffixList
    ) throws(CookieRefusal) -> String? {
        guard !attribute.isEmpty else { return nil }
        let domain = String(decoding: attribute, as: UTF8.self)
        guard domain.utf8.allSatisfy({ $0 < 0x80 }), CookieDomain.matches(host, domain: domain) else {
            throw .foreignDomain
        }
        if CookieDomain.isAddress(host) { return nil }
        guard suffixes.isPublicSuffix(domain) else { return domain }
        guard domain == host else { throw .publicSuffix }
        return nil
    }

    /// RFC 6265bis section 4.1.3; prefixes in any case.
    ///
    /// A nameless cookie is sent as its value alone, so its value is checked as a name and must have no such prefix.
    func satisfiesNamePrefix(hasPathAttribute: Bool) -> Bool {
        let name = nameBytes.isEmpty ? valueBytes : nameBytes
        let isHost = name.prefix(7).equalsIgnoringCase("__host-")
        guard isHost || name.prefix(9).equalsIgnoringCase("__secure-") else { return true }
        guard !nameBytes.isEmpty, isSecure else { return false }
        return !isHost || isHostOnly && path == "/" && hasPathAttribute
    }
}
