/// The value of a `Cookie` header.
enum CookieHeader {
    /// Servers take lines of 8 KB; this leaves room in one for `Cookie: ` and the line end.
    static let longest = 8_192 - "Cookie: \r\n".utf8.count

    /// The cookies in their order, leaving out each that no longer fits; `nil` when there is none.
    static func value(_ cookies: [Cookie]) -> [UInt8]? {
        var value: [UInt8] = []
        for cookie in cookies {
            let separator = value.isEmpty ? 0 : 2
            guard value.count + separator + cookie.pairLength <= longest else { continue }
            if separator > 0 { value += "; ".utf8 }
            cookie.appendPair(to: &value)
        }
        return value.isEmpty ? nil : value
    }
}

extension Cookie {
    fileprivate var pairLength: Int {
        nameBytes.count + valueBytes.count + (nameBytes.isEmpty ? 0 : 1)
    }

    fileprivate func appendPair(to bytes: inout [UInt8]) {
        bytes += nameBytes
        if !nameBytes.isEmpty { bytes.append(UInt8(ascii: "=")) }
        bytes += valueBytes
    }
}
