import Foundation

extension CookieFileFormat {
    /// The file of these cookies, of which each can be represented.
    static func encode(_ cookies: [Cookie]) -> [UInt8] {
        var bytes = Array(header.utf8)
        for cookie in cookies { append(cookie, to: &bytes) }
        bytes += "\(end)\(checksum(bytes))\n".utf8
        return bytes
    }

    private static func append(_ cookie: Cookie, to bytes: inout [UInt8]) {
        bytes += "\(note)\(milliseconds(cookie.created)) \(cookie.sameSite?.rawValue ?? "-")\n".utf8
        if cookie.isHTTPOnly { bytes += httpOnly.utf8 }
        if !cookie.isHostOnly { bytes.append(UInt8(ascii: ".")) }
        bytes += cookie.domain.utf8
        bytes += cookie.isHostOnly ? "\tFALSE\t".utf8 : "\tTRUE\t".utf8
        bytes += cookie.path.utf8
        bytes += cookie.isSecure ? "\tTRUE\t".utf8 : "\tFALSE\t".utf8
        bytes += "\(cookie.expires.map(seconds) ?? 0)\t".utf8
        bytes += cookie.nameBytes
        bytes.append(UInt8(ascii: "\t"))
        bytes += cookie.valueBytes
        bytes.append(UInt8(ascii: "\n"))
    }

    /// Whole seconds since 1970, at least 1: a 0 would make it a session cookie.
    private static func seconds(_ date: Date) -> Int {
        Int(max(1, min(date.timeIntervalSince1970.rounded(.down), 1e12)))
    }

    private static func milliseconds(_ date: Date) -> Int {
        Int(max(-1e15, min((date.timeIntervalSince1970 * 1000).rounded(), 1e15)))
    }
}
