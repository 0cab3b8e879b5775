import Foundation

/// The Netscape `cookies.txt` format: seven fields between TABs, as curl writes and reads them.
///
/// What the fields cannot say stands in comments that begin with `#Errand`: above a cookie its creation time in
/// milliseconds and its `SameSite`; at the end a checksum of all bytes before. Other tools
/// ignore them and drop them when they rewrite the file, which then is a plain list in order of creation.
enum CookieFileFormat {
    /// What a file holds.
    struct Contents {
        var cookies: [Cookie] = []
        /// Why not all of it can be trusted; `nil` when it can.
        var damage: String?
    }

    static let firstLine = "# Netscape HTTP Cookie File, written by Errand"
    static let header = """
        \(firstLine)
        # https://curl.se/docs/http-cookies.html
        # What other programs add, change or remove is respected.


        """
    static let note = "#Errand "
    static let end = "#Errand-end "
    static let httpOnly = "#HttpOnly_"

    /// Whether the format has a place for every part of the cookie.
    static func canRepresent(_ cookie: Cookie) -> Bool {
        let tab = UInt8(ascii: "\t")
        return !cookie.nameBytes.isEmpty && !cookie.nameBytes.contains(tab) && !cookie.valueBytes.contains(tab)
            && !cookie.path.utf8.contains(tab)
    }

    /// A digest that changes with any one byte (FNV-1a, 64 bits); a check against accidents, not against people.
    static func checksum(_ bytes: some Sequence<UInt8>) -> UInt64 {
        bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}
