import Foundation

/// The Netscape `cookies.txt` format: seven fields separated by TABs, as curl writes and reads them.
///
/// Comments that begin with `#Errand` contain what the fields cannot express:
///
/// - `#Errand <created> <updated> <SameSite>` before a cookie: milliseconds, microseconds, and `-` for no `SameSite`;
/// - `#Errand-cleared <time>` after a logout;
/// - `#Errand-end <checksum>`, of all bytes before it.
///
/// Other tools ignore the comments and drop them when they rewrite the file, which then is a list in their order.
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
}

// MARK: Writing

extension CookieFileFormat {
    static func encode(_ contents: Contents) -> [UInt8] {
        var bytes = Array(header.utf8)
        if contents.cleared > .never { bytes += "\(clearedPrefix)\(contents.cleared.microseconds)\n".utf8 }
        for cookie in contents.cookies { append(cookie, to: &bytes) }
        bytes += "\(endPrefix)\(bytes.checksum)\n".utf8
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

extension CookieFileFormat {
    /// Parses a file that this library, curl or another tool wrote; cookies of other tools were created at `date`.
    ///
    /// A file with `limit` cookies or more is parsed up to there. As in curl, the last line of another tool needs no line
    /// feed; of a file of this library that has lost its end, an unfinished line may be half a cookie.
    static func decode(_ bytes: [UInt8], limit: Int = .max, at date: Date) -> Contents {
        // What is left of the first line alone may be the rest of a file of this library.
        let isWrittenByErrand =
            bytes.starts(with: firstLine.utf8) || !bytes.isEmpty && firstLine.utf8.starts(with: bytes)
        var parser = CookieFileParser(date: date)
        var rest = bytes[...]
        while !rest.isEmpty, parser.contents.cookies.count < limit {
            let end = rest.firstIndex(of: UInt8(ascii: "\n"))
            if end == nil, isWrittenByErrand { break }
            parser.parse(line: rest[..<(end ?? rest.endIndex)], of: bytes)
            rest = rest[(end.map { $0 + 1 } ?? rest.endIndex)...]
        }
        if parser.contents.cookies.count >= limit {
            parser.recordDamage("it holds too many cookies")
        } else if !rest.isEmpty || isWrittenByErrand && !parser.hasEnd {
            parser.recordDamage("it is cut off")
        }
        return parser.contents
    }
}

private struct CookieFileParser {
    let date: Date
    var contents = CookieFileFormat.Contents()
    var hasEnd = false
    /// Those, in a comment, of the cookie in the next line.
    var attributes: (created: Date, updated: CookieTimestamp, sameSite: Cookie.SameSite?)?

    mutating func parse(line: ArraySlice<UInt8>, of file: [UInt8]) {
        let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
        if line.starts(with: CookieFileFormat.endPrefix.utf8) {
            hasEnd = true
            let sum = file[..<line.startIndex].checksum
            guard !line.elementsEqual("\(CookieFileFormat.endPrefix)\(sum)".utf8) else { return }
            recordDamage("its checksum does not match")
        } else if line.starts(with: CookieFileFormat.attributesPrefix.utf8) {
            parseAttributes(line)
        } else if line.starts(with: CookieFileFormat.clearedPrefix.utf8) {
            let text = String(decoding: line.dropFirst(CookieFileFormat.clearedPrefix.utf8.count), as: UTF8.self)
            guard let time = Int64(text) else { return recordDamage("a comment is damaged") }
            contents.cleared = CookieTimestamp(microseconds: time)
        } else if line.first != UInt8(ascii: "#") || line.starts(with: CookieFileFormat.httpOnlyPrefix.utf8) {
            defer { attributes = nil }
            guard !line.isEmpty else { return }
            guard let cookie = cookie(line) else { return recordDamage("a line is not a cookie") }
            contents.cookies.append(cookie)
        }
    }

    mutating func recordDamage(_ damage: String) { contents.damage = contents.damage ?? damage }

    private mutating func parseAttributes(_ line: ArraySlice<UInt8>) {
        let parts = line.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
        guard parts.count == 4, let created = Int64(parts[1]), let updated = Int64(parts[2]) else {
            return recordDamage("a comment is damaged")
        }
        attributes = (
            Date(timeIntervalSince1970: Double(created) / 1000),
            CookieTimestamp(microseconds: updated),
            Cookie.SameSite(rawValue: parts[3])
        )
    }

    private func cookie(_ line: ArraySlice<UInt8>) -> Cookie? {
        let isHTTPOnly = line.first == UInt8(ascii: "#")
        let line = isHTTPOnly ? line.dropFirst(CookieFileFormat.httpOnlyPrefix.utf8.count) : line
        let fields = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
        let name = fields[0].first == UInt8(ascii: ".") ? fields[0].dropFirst() : fields[0]
        // Like curl, this reads a line that ends after the name as a cookie without a value.
        guard (6...7).contains(fields.count), !line.contains(where: \.isControlExceptTab), !fields[5].isEmpty,
            let domain = CookieDomain.canonical(String(decoding: name, as: UTF8.self)), let isShared = flag(fields[1]),
            fields[2].first == UInt8(ascii: "/"), let isSecure = flag(fields[3]),
            let seconds = seconds(fields[4])
        else { return nil }
        let end = min(Date(timeIntervalSince1970: Double(seconds)), date + SetCookieHeader.maximumLifetime)
        return Cookie(
            nameBytes: Array(fields[5]),
            valueBytes: fields.count > 6 ? Array(fields[6]) : [],
            domain: domain,
            isHostOnly: !isShared || CookieDomain.isAddress(domain),
            path: String(decoding: fields[2], as: UTF8.self),
            expires: seconds == 0 ? nil : end,
            created: attributes?.created ?? date,
            isSecure: isSecure,
            isHTTPOnly: isHTTPOnly,
            sameSite: attributes?.sameSite,
            updated: attributes?.updated ?? .never
        )
    }

    /// Whole seconds; Python's `MozillaCookieJar` writes none for a session cookie, and some exporters write fractions.
    private func seconds(_ field: ArraySlice<UInt8>) -> Int64? {
        guard !field.isEmpty else { return 0 }
        let whole = field.prefix { $0 != UInt8(ascii: ".") }
        guard field[whole.endIndex...].dropFirst().allSatisfy(\.isASCIIDigit) else { return nil }
        return Int64(String(decoding: whole, as: UTF8.self))
    }

    private func flag(_ field: ArraySlice<UInt8>) -> Bool? {
        field.equalsIgnoringCase("true") ? true : field.equalsIgnoringCase("false") ? false : nil
    }
}
