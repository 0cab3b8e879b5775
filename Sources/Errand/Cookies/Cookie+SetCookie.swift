import Foundation

extension Cookie {
    /// The cookie that a line asks for, after the checks of RFC 6265bis section 5.7 that need no other cookie.
    init(
        _ line: SetCookie,
        from origin: CookieOrigin,
        suffixes: PublicSuffixRules,
        at date: Date
    ) throws(CookieRefusal) {
        let domain = try Self.domain(asked: line.domain, host: origin.host, suffixes: suffixes)
        self.init(
            nameBytes: line.name,
            valueBytes: line.value,
            domain: domain ?? origin.host,
            isHostOnly: domain == nil,
            path: line.path.map { String(decoding: $0, as: UTF8.self) } ?? origin.defaultPath,
            expires: line.expiry(at: date),
            created: date.inWholeMilliseconds,
            isSecure: line.isSecure,
            isHTTPOnly: line.isHTTPOnly,
            sameSite: line.sameSite,
            updated: CookieStamp(date)
        )
        guard !isSecure || origin.isSecure else { throw .insecureConnection }
        guard sameSite != SameSite.none || isSecure else { throw .sameSiteNoneWithoutSecure }
        guard keepsPromiseOfName(hasPathAttribute: line.path != nil) else { throw .prefix }
    }

    /// The domain of a domain cookie, or `nil` for one that belongs to the host alone.
    private static func domain(
        asked: [UInt8],
        host: String,
        suffixes: PublicSuffixRules
    ) throws(CookieRefusal) -> String? {
        guard !asked.isEmpty else { return nil }
        let domain = String(decoding: asked, as: UTF8.self)
        guard domain.utf8.allSatisfy({ $0 < 0x80 }), CookieHost.matches(host, domain: domain) else {
            throw .foreignDomain
        }
        if CookieHost.isAddress(host) { return nil }
        guard suffixes.isPublicSuffix(domain) else { return domain }
        guard domain == host else { throw .publicSuffix }
        return nil
    }

    /// Whether the cookie is what its name says: `__Secure-` and `__Host-`, in any case (RFC 6265bis section 4.1.3).
    ///
    /// A nameless cookie is sent as its value alone, so its value counts as a name here and may promise nothing.
    func keepsPromiseOfName(hasPathAttribute: Bool) -> Bool {
        let promise = nameBytes.isEmpty ? valueBytes : nameBytes
        let isHost = promise.hasPrefix("__host-")
        guard isHost || promise.hasPrefix("__secure-") else { return true }
        guard !nameBytes.isEmpty, isSecure else { return false }
        return !isHost || isHostOnly && path == "/" && hasPathAttribute
    }
}

extension Date {
    /// What the file can say of this date, so that the order of creation is the same before and after a restart.
    fileprivate var inWholeMilliseconds: Date {
        Date(timeIntervalSince1970: (timeIntervalSince1970 * 1000).rounded(.down) / 1000)
    }
}

extension [UInt8] {
    fileprivate func hasPrefix(_ lowercased: String) -> Bool {
        prefix(lowercased.utf8.count).equalsIgnoringCase(lowercased.utf8)
    }
}
