import Foundation

/// The Netscape `cookies.txt` format: seven fields separated by TABs, as curl writes and reads them.
///
/// Comments that begin with `#Errand` contain what the fields cannot express:
///
/// - `#Errand <created> <updated> <SameSite>` before a cookie: milliseconds, microseconds, and `-` for no `SameSite`;
/// - `#Errand-cleared <time>` after a logout;
/// - `#Errand-end <checksum>`, of all bytes before it.
///
/// Other tools ignore the comments and drop them when they rewrite the file, which then is a list in order of creation.
enum CookieFileFormat {
    struct Contents {
        /// Cookies that another tool wrote were updated ``CookieTimestamp/never``.
        var cookies: [Cookie] = []
        var cleared = CookieTimestamp.never
        /// `nil` when the file is intact.
        var damage: String?

        var isEmpty: Bool { cookies.isEmpty && cleared == .never }
    }

    static let firstLine = "# Netscape HTTP Cookie File, written by Errand"
    static let header = """
        \(firstLine)
        # https://curl.se/docs/http-cookies.html
        # What other programs add, change or remove is respected.


        """
    static let attributesPrefix = "#Errand "
    static let clearedPrefix = "#Errand-cleared "
    static let endPrefix = "#Errand-end "
    static let httpOnlyPrefix = "#HttpOnly_"

    static func canRepresent(_ cookie: Cookie) -> Bool {
        let tab = UInt8(ascii: "\t")
        return !cookie.nameBytes.isEmpty && !cookie.nameBytes.contains(tab) && !cookie.path.utf8.contains(tab)
            && !cookie.valueBytes.contains(tab)
    }

    /// FNV-1a, 64 bits: changes with any one byte; detects accidental damage, not manipulation.
    static func checksum(_ bytes: some Sequence<UInt8>) -> UInt64 {
        bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}

// MARK: Writing

extension CookieFileFormat {
    static func encode(_ contents: Contents) -> [UInt8] {
        var bytes = Array(header.utf8)
        if contents.cleared > .never { bytes += "\(clearedPrefix)\(contents.cleared.microseconds)\n".utf8 }
        for cookie in contents.cookies { append(cookie, to: &bytes) }
        bytes += "\(endPrefix)\(checksum(bytes))\n".utf8
        return bytes
    }

    private static func append(_ cookie: Cookie, to bytes: inout [UInt8]) {
        let times = "\(milliseconds(cookie.created)) \(cookie.updated.microseconds)"
        bytes += "\(attributesPrefix)\(times) \(cookie.sameSite?.rawValue ?? "-")\n".utf8
        if cookie.isHTTPOnly { bytes += httpOnlyPrefix.utf8 }
        bytes += "\(cookie.isHostOnly ? "" : ".")\(cookie.domain)\t\(field(!cookie.isHostOnly))\t\(cookie.path)\t".utf8
        bytes += "\(field(cookie.isSecure))\t\(cookie.expires.map(seconds) ?? 0)\t".utf8
        bytes += cookie.nameBytes
        bytes.append(UInt8(ascii: "\t"))
        bytes += cookie.valueBytes
        bytes.append(UInt8(ascii: "\n"))
    }

    private static func field(_ value: Bool) -> String { value ? "TRUE" : "FALSE" }

    /// At least 1: 0 means a session cookie.
    private static func seconds(_ date: Date) -> Int64 {
        Int64(max(1, min(date.timeIntervalSince1970.rounded(.down), 1e12)))
    }

    private static func milliseconds(_ date: Date) -> Int64 {
        Int64(max(-1e15, min((date.timeIntervalSince1970 * 1000).rounded(), 1e15)))
    }
}
