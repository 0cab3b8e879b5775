import Foundation

extension CookieFileFormat {
    /// Parses a file that this library, curl or another tool wrote; cookies of other tools were created at `date`.
    ///
    /// A file with more than `limit` cookies is parsed up to there. As in curl, the last line of another tool needs no line
    /// feed; of a file of this library that has lost its end, an unfinished line may be half a cookie.
    static func decode(_ bytes: [UInt8], limit: Int = .max, at date: Date) -> Contents {
        // What is left of the first line alone may be the rest of a file of this library.
        let isWrittenByErrand =
            bytes.starts(with: firstLine.utf8) || !bytes.isEmpty && firstLine.utf8.starts(with: bytes)
        var parser = CookieFileParser(date: date, limit: limit, isWrittenByErrand: isWrittenByErrand)
        var rest = bytes[...]
        while !rest.isEmpty, !parser.isAtLimit {
            let end = rest.firstIndex(of: UInt8(ascii: "\n"))
            if end == nil, isWrittenByErrand { break }
            parser.parse(line: rest[..<(end ?? rest.endIndex)], of: bytes)
            rest = rest[(end.map { $0 + 1 } ?? rest.endIndex)...]
        }
        return parser.contents(rest: rest)
    }
}

private struct CookieFileParser {
    let date: Date
    private let limit: Int
    private var contents = CookieFileFormat.Contents()
    private var attributes: Attributes?
    private let isWrittenByErrand: Bool
    private var hasEnd = false

    init(date: Date, limit: Int, isWrittenByErrand: Bool) {
        self.date = date
        self.limit = limit
        self.isWrittenByErrand = isWrittenByErrand
    }

    /// The attributes, in a comment, of the cookie in the next line.
    private struct Attributes {
        let created: Date
        let updated: CookieTimestamp
        let sameSite: Cookie.SameSite?
    }

    mutating func parse(line: ArraySlice<UInt8>, of file: [UInt8]) {
        let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
        if line.starts(with: CookieFileFormat.endPrefix.utf8) {
            parseEnd(line, of: file)
        } else if line.starts(with: CookieFileFormat.attributesPrefix.utf8) {
            parseAttributes(line)
        } else if line.starts(with: CookieFileFormat.removedPrefix.utf8) {
            parseRemoval(line)
        } else if line.starts(with: CookieFileFormat.clearedPrefix.utf8) {
            parseLogout(line)
        } else if line.first != UInt8(ascii: "#") || line.starts(with: CookieFileFormat.httpOnlyPrefix.utf8) {
            parseCookie(line)
        }
    }

    var isAtLimit: Bool { contents.cookies.count + contents.removals.count >= limit }

    /// The contents, where `rest` is what was not parsed.
    func contents(rest: ArraySlice<UInt8>) -> CookieFileFormat.Contents {
        var contents = contents
        if isAtLimit { contents.damage = "it holds too many cookies" }
        if !rest.isEmpty || isWrittenByErrand && !hasEnd { contents.damage = contents.damage ?? "it is cut off" }
        return contents
    }

    private mutating func parseEnd(_ line: ArraySlice<UInt8>, of file: [UInt8]) {
        hasEnd = true
        let sum = CookieFileFormat.checksum(file[..<line.startIndex])
        guard !line.elementsEqual("\(CookieFileFormat.endPrefix)\(sum)".utf8) else { return }
        contents.damage = contents.damage ?? "its checksum does not match"
    }

    private mutating func parseAttributes(_ line: ArraySlice<UInt8>) {
        let parts = line.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
        guard parts.count == 4, let created = Int64(parts[1]), let updated = Int64(parts[2]) else {
            return recordDamagedComment()
        }
        attributes = Attributes(
            created: Date(timeIntervalSince1970: Double(created) / 1000),
            updated: CookieTimestamp(microseconds: updated),
            sameSite: Cookie.SameSite(rawValue: parts[3])
        )
    }

    private mutating func parseRemoval(_ line: ArraySlice<UInt8>) {
        let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 3)
        let fields = parts.last?.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false) ?? []
        guard parts.count == 4, fields.count == 3, !fields[2].isEmpty, fields[1].first == UInt8(ascii: "/"),
            let time = Int64(String(decoding: parts[1], as: UTF8.self)), let isSecure = Bool(field: parts[2]),
            let domain = domain(fields[0])
        else { return recordDamagedComment() }
        let key = Cookie.Key(
            domain: domain,
            isHostOnly: fields[0].first != UInt8(ascii: "."),
            path: String(decoding: fields[1], as: UTF8.self),
            name: Array(fields[2])
        )
        contents.removals.append(.init(key: key, time: CookieTimestamp(microseconds: time), isSecure: isSecure))
    }

    private mutating func parseLogout(_ line: ArraySlice<UInt8>) {
        let text = String(decoding: line.dropFirst(CookieFileFormat.clearedPrefix.utf8.count), as: UTF8.self)
        guard let time = Int64(text) else { return recordDamagedComment() }
        contents.cleared = max(contents.cleared, CookieTimestamp(microseconds: time))
    }

    private mutating func recordDamagedComment() {
        contents.damage = contents.damage ?? "a comment is damaged"
    }

    private mutating func parseCookie(_ line: ArraySlice<UInt8>) {
        defer { attributes = nil }
        guard !line.isEmpty else { return }
        guard let cookie = cookie(line) else {
            contents.damage = contents.damage ?? "a line is not a cookie"
            return
        }
        contents.cookies.append(cookie)
    }

    private func cookie(_ line: ArraySlice<UInt8>) -> Cookie? {
        let isHTTPOnly = line.first == UInt8(ascii: "#")
        let line = isHTTPOnly ? line.dropFirst(CookieFileFormat.httpOnlyPrefix.utf8.count) : line
        let fields = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
        // Like curl, this reads a line that ends after the name as a cookie without a value.
        guard (6...7).contains(fields.count), !line.contains(where: \.isControlExceptTab), !fields[5].isEmpty,
            let domain = domain(fields[0]), let includesSubdomains = Bool(field: fields[1]),
            fields[2].first == UInt8(ascii: "/"), let isSecure = Bool(field: fields[3]),
            let seconds = seconds(fields[4])
        else { return nil }
        return Cookie(
            nameBytes: Array(fields[5]),
            valueBytes: fields.count > 6 ? Array(fields[6]) : [],
            domain: domain,
            isHostOnly: !includesSubdomains || CookieDomain.isAddress(domain),
            path: String(decoding: fields[2], as: UTF8.self),
            expires: expiry(seconds),
            created: attributes?.created ?? date,
            isSecure: isSecure,
            isHTTPOnly: isHTTPOnly,
            sameSite: attributes?.sameSite,
            updated: attributes?.updated ?? .never
        )
    }

    private func domain(_ field: ArraySlice<UInt8>) -> String? {
        let name = field.first == UInt8(ascii: ".") ? field.dropFirst() : field
        return CookieDomain.canonical(String(decoding: name, as: UTF8.self))
    }

    /// Whole seconds; Python's `MozillaCookieJar` writes none for a session cookie, and some exporters write fractions.
    private func seconds(_ field: ArraySlice<UInt8>) -> Int64? {
        guard !field.isEmpty else { return 0 }
        let whole = field.prefix { $0 != UInt8(ascii: ".") }
        guard field[whole.endIndex...].dropFirst().allSatisfy(\.isASCIIDigit) else { return nil }
        return Int64(String(decoding: whole, as: UTF8.self))
    }

    private func expiry(_ seconds: Int64) -> Date? {
        guard seconds != 0 else { return nil }
        return min(Date(timeIntervalSince1970: Double(seconds)), date + SetCookieHeader.maximumLifetime)
    }
}

extension Bool {
    fileprivate init?(field: ArraySlice<UInt8>) {
        switch String(decoding: field, as: UTF8.self).uppercased() {
        case "TRUE": self = true
        case "FALSE": self = false
        default: return nil
        }
    }
}
