import Foundation

/// One `Set-Cookie` line, read by the algorithm of RFC 6265bis section 5.6.
struct SetCookie {
    /// How long a cookie may live at most, whatever it asks for.
    static let longestLife: TimeInterval = 400 * 86_400
    /// Bytes of name and value together.
    static let longestPair = 4096
    private static let longestAttribute = 1024

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
        guard name.count + value.count <= Self.longestPair else { throw .tooLong }
        for part in parts.dropFirst() { readAttribute(part) }
    }

    /// When a cookie that was received at `date` ends: `Max-Age` counts before `Expires`.
    func expiry(at date: Date) -> Date? {
        guard let asked = maxAge.map({ $0 > 0 ? date + $0 : .distantPast }) ?? expires else { return nil }
        return min(asked, date + Self.longestLife)
    }

    /// Whether a line exists that asks for this name and value.
    static func canBring(_ cookie: Cookie) -> Bool {
        let (name, value) = (cookie.nameBytes, cookie.valueBytes)
        return name.count + value.count <= longestPair && cookie.keepsPromiseOfName(hasPathAttribute: true)
            && !name.contains(UInt8(ascii: "=")) && !(name + value).contains(UInt8(ascii: ";"))
    }

    /// A pair without `=` is a value without a name.
    private static func pair(_ part: ArraySlice<UInt8>) -> (name: [UInt8], value: [UInt8]) {
        guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else { return ([], Array(part.trimmingBlanks)) }
        return (Array(part[..<equals].trimmingBlanks), Array(part[(equals + 1)...].trimmingBlanks))
    }

    private mutating func readAttribute(_ part: ArraySlice<UInt8>) {
        let equals = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
        let name = part[..<equals].trimmingBlanks.map(\.asciiLowercased)
        let value = part[equals...].dropFirst().trimmingBlanks
        guard value.count <= Self.longestAttribute else { return }
        switch String(decoding: name, as: UTF8.self) {
        case "expires": expires = CookieDate.parse(value) ?? expires
        case "max-age": maxAge = Self.seconds(value) ?? maxAge
        case "domain": domain = (value.first == UInt8(ascii: ".") ? value.dropFirst() : value).map(\.asciiLowercased)
        case "path": path = value.first == UInt8(ascii: "/") ? Array(value) : nil
        case "secure": isSecure = true
        case "httponly": isHTTPOnly = true
        case "samesite": sameSite = Cookie.SameSite(attribute: value)
        default: break
        }
    }

    /// Digits after an optional minus; a number too large for anything becomes infinity.
    private static func seconds(_ value: ArraySlice<UInt8>) -> TimeInterval? {
        let digits = value.first == UInt8(ascii: "-") ? value.dropFirst() : value
        guard !digits.isEmpty, digits.allSatisfy(\.isASCIIDigit) else { return nil }
        return TimeInterval(String(decoding: value, as: UTF8.self))
    }
}

extension Cookie.SameSite {
    fileprivate init?(attribute value: ArraySlice<UInt8>) {
        let text = String(decoding: value, as: UTF8.self).lowercased()
        let known = [Self.strict, .lax, .none].first { $0.rawValue.lowercased() == text }
        guard let known else { return nil }
        self = known
    }
}
