import Foundation

/// The Netscape `cookies.txt` format: seven fields between TABs, as curl writes and reads them.
///
/// What the fields cannot express is in comments that begin with `#Errand`:
///
/// - `#Errand <created> <updated> <SameSite>` above a cookie: milliseconds, microseconds, and `-` for no `SameSite`;
/// - `#Errand-removed <when> <isSecure> <domain> <path> <name>` for a cookie that was removed lately, with TABs between the
///   fields of the cookie, see ``CookieRemovals``;
/// - `#Errand-cleared <when>` after a logout;
/// - `#Errand-end <checksum>`, of all bytes before.
///
/// Other tools ignore them and drop them when they rewrite the file, which then is a plain list in order of creation.
enum CookieFileFormat {
    /// What a file holds.
    struct Contents {
        struct Removal: Equatable {
            let key: Cookie.Key
            let stamp: CookieStamp
            let isSecure: Bool
        }

        /// The stamp of a cookie that another tool wrote is ``CookieStamp/never``.
        var cookies: [Cookie] = []
        var removals: [Removal] = []
        var cleared = CookieStamp.never
        /// Why not all of it can be trusted; `nil` when it can.
        var damage: String?

        var isEmpty: Bool { cookies.isEmpty && removals.isEmpty && cleared == .never }
    }

    static let firstLine = "# Netscape HTTP Cookie File, written by Errand"
    static let header = """
        \(firstLine)
        # https://curl.se/docs/http-cookies.html
        # What other programs add, change or remove is respected.


        """
    static let note = "#Errand "
    static let removed = "#Errand-removed "
    static let cleared = "#Errand-cleared "
    static let end = "#Errand-end "
    static let httpOnly = "#HttpOnly_"

    /// Whether the format has a place for every part of the cookie.
    static func canRepresent(_ cookie: Cookie) -> Bool {
        canRepresent(cookie.key) && !cookie.valueBytes.contains(UInt8(ascii: "\t"))
    }

    private static func canRepresent(_ key: Cookie.Key) -> Bool {
        let tab = UInt8(ascii: "\t")
        return !key.name.isEmpty && !key.name.contains(tab) && !key.path.utf8.contains(tab)
    }

    /// A digest that changes with any one byte (FNV-1a, 64 bits); a check against accidents, not against people.
    static func checksum(_ bytes: some Sequence<UInt8>) -> UInt64 {
        bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}

// MARK: Writing

extension CookieFileFormat {
    /// The file of these contents; a removal that has no place in it is left out.
    static func encode(_ contents: Contents) -> [UInt8] {
        var bytes = Array(header.utf8)
        if contents.cleared > .never { bytes += "\(cleared)\(contents.cleared.microseconds)\n".utf8 }
        for removal in contents.removals.sorted(by: isListedBefore) where canRepresent(removal.key) {
            append(removal, to: &bytes)
        }
        for cookie in contents.cookies { append(cookie, to: &bytes) }
        bytes += "\(end)\(checksum(bytes))\n".utf8
        return bytes
    }

    /// An order that does not depend on the process, so that equal contents are equal files.
    private static func isListedBefore(_ one: Contents.Removal, _ other: Contents.Removal) -> Bool {
        if one.stamp != other.stamp { return one.stamp < other.stamp }
        let (one, other) = (one.key, other.key)
        let texts = [(one.domain, other.domain), (one.path, other.path)]
        if let (one, other) = texts.first(where: { $0 != $1 }) { return one < other }
        return one.name.lexicographicallyPrecedes(other.name)
    }

    private static func append(_ removal: Contents.Removal, to bytes: inout [UInt8]) {
        let key = removal.key
        bytes += "\(removed)\(removal.stamp.microseconds) \(field(removal.isSecure)) ".utf8
        bytes += "\(key.isHostOnly ? "" : ".")\(key.domain)\t\(key.path)\t".utf8
        bytes += key.name
        bytes.append(UInt8(ascii: "\n"))
    }

    private static func append(_ cookie: Cookie, to bytes: inout [UInt8]) {
        let times = "\(milliseconds(cookie.created)) \(cookie.updated.microseconds)"
        bytes += "\(note)\(times) \(cookie.sameSite?.rawValue ?? "-")\n".utf8
        if cookie.isHTTPOnly { bytes += httpOnly.utf8 }
        bytes += "\(cookie.isHostOnly ? "" : ".")\(cookie.domain)\t\(field(!cookie.isHostOnly))\t\(cookie.path)\t".utf8
        bytes += "\(field(cookie.isSecure))\t\(cookie.expires.map(seconds) ?? 0)\t".utf8
        bytes += cookie.nameBytes
        bytes.append(UInt8(ascii: "\t"))
        bytes += cookie.valueBytes
        bytes.append(UInt8(ascii: "\n"))
    }

    private static func field(_ value: Bool) -> String { value ? "TRUE" : "FALSE" }

    /// Whole seconds since 1970, at least 1: a 0 would make it a session cookie.
    private static func seconds(_ date: Date) -> Int {
        Int(max(1, min(date.timeIntervalSince1970.rounded(.down), 1e12)))
    }

    private static func milliseconds(_ date: Date) -> Int {
        Int(max(-1e15, min((date.timeIntervalSince1970 * 1000).rounded(), 1e15)))
    }
}
