import Foundation

extension CookieFileFormat {
    /// The cookies of a file that this library, curl or another tool wrote; others than ours were created at `date`.
    ///
    /// A file with more than `most` cookies is read no further.
    static func decode(_ bytes: [UInt8], atMost most: Int = .max, at date: Date) -> Contents {
        var reader = CookieFileReader(date: date, most: most, isOurs: bytes.starts(with: firstLine.utf8))
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")), reader.hasRoom {
            reader.read(rest[..<end], of: bytes)
            rest = rest[(end + 1)...]
        }
        return reader.contents(rest: rest)
    }
}

private struct CookieFileReader {
    let date: Date
    private let most: Int
    private var contents = CookieFileFormat.Contents()
    private var note: Note?
    private let isOurs: Bool
    private var hasEnd = false

    init(date: Date, most: Int, isOurs: Bool) {
        self.date = date
        self.most = most
        self.isOurs = isOurs
    }

    /// What our comment says of the cookie in the next line.
    private struct Note {
        let created: Date
        let updated: CookieStamp
        let sameSite: Cookie.SameSite?
    }

    mutating func read(_ line: ArraySlice<UInt8>, of file: [UInt8]) {
        let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
        if line.starts(with: CookieFileFormat.end.utf8) {
            readEnd(line, of: file)
        } else if line.starts(with: CookieFileFormat.note.utf8) {
            readNote(line)
        } else if line.starts(with: CookieFileFormat.removed.utf8) {
            readRemoval(line)
        } else if line.starts(with: CookieFileFormat.cleared.utf8) {
            readLogout(line)
        } else if line.first != UInt8(ascii: "#") || line.starts(with: CookieFileFormat.httpOnly.utf8) {
            readCookie(line)
        }
    }

    var hasRoom: Bool { contents.cookies.count + contents.removals.count < most }

    func contents(rest: ArraySlice<UInt8>) -> CookieFileFormat.Contents {
        var contents = contents
        if !hasRoom { contents.damage = "it holds too many cookies" }
        if !rest.isEmpty || isOurs && !hasEnd { contents.damage = contents.damage ?? "it is cut off" }
        return contents
    }

    private mutating func readEnd(_ line: ArraySlice<UInt8>, of file: [UInt8]) {
        hasEnd = true
        let sum = CookieFileFormat.checksum(file[..<line.startIndex])
        guard !line.elementsEqual("\(CookieFileFormat.end)\(sum)".utf8) else { return }
        contents.damage = contents.damage ?? "its checksum does not fit"
    }

    private mutating func readNote(_ line: ArraySlice<UInt8>) {
        let words = line.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
        guard words.count == 4, let created = Int64(words[1]), let updated = Int64(words[2]) else {
            return damageComment()
        }
        note = Note(
            created: Date(timeIntervalSince1970: Double(created) / 1000),
            updated: CookieStamp(microseconds: updated),
            sameSite: Cookie.SameSite(rawValue: words[3])
        )
    }

    private mutating func readRemoval(_ line: ArraySlice<UInt8>) {
        let words = line.split(separator: UInt8(ascii: " "), maxSplits: 3)
        let fields = words.last?.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false) ?? []
        guard words.count == 4, fields.count == 3, !fields[2].isEmpty, fields[1].first == UInt8(ascii: "/"),
            let stamp = Int64(String(decoding: words[1], as: UTF8.self)), let isSecure = Bool(field: words[2]),
            let domain = domain(fields[0])
        else { return damageComment() }
        let key = Cookie.Key(
            domain: domain,
            isHostOnly: fields[0].first != UInt8(ascii: "."),
            path: String(decoding: fields[1], as: UTF8.self),
            name: Array(fields[2])
        )
        contents.removals.append(.init(key: key, stamp: CookieStamp(microseconds: stamp), isSecure: isSecure))
    }

    private mutating func readLogout(_ line: ArraySlice<UInt8>) {
        let text = String(decoding: line.dropFirst(CookieFileFormat.cleared.utf8.count), as: UTF8.self)
        guard let stamp = Int64(text) else { return damageComment() }
        contents.cleared = max(contents.cleared, CookieStamp(microseconds: stamp))
    }

    private mutating func damageComment() {
        contents.damage = contents.damage ?? "a comment is damaged"
    }

    private mutating func readCookie(_ line: ArraySlice<UInt8>) {
        defer { note = nil }
        guard !line.isEmpty else { return }
        guard let cookie = cookie(line) else {
            contents.damage = contents.damage ?? "a line is not a cookie"
            return
        }
        contents.cookies.append(cookie)
    }

    private func cookie(_ line: ArraySlice<UInt8>) -> Cookie? {
        let isHTTPOnly = line.first == UInt8(ascii: "#")
        let line = isHTTPOnly ? line.dropFirst(CookieFileFormat.httpOnly.utf8.count) : line
        let fields = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
        // curl, too, takes a line that ends behind the name for a cookie without a value.
        guard (6...7).contains(fields.count), !line.contains(where: \.isControlExceptTab), !fields[5].isEmpty,
            let domain = domain(fields[0]), let includesHostsBelow = Bool(field: fields[1]),
            fields[2].first == UInt8(ascii: "/"), let isSecure = Bool(field: fields[3]),
            let seconds = seconds(fields[4])
        else { return nil }
        return Cookie(
            nameBytes: Array(fields[5]),
            valueBytes: fields.count > 6 ? Array(fields[6]) : [],
            domain: domain,
            isHostOnly: !includesHostsBelow || CookieHost.isAddress(domain),
            path: String(decoding: fields[2], as: UTF8.self),
            expires: expiry(seconds),
            created: note?.created ?? date,
            isSecure: isSecure,
            isHTTPOnly: isHTTPOnly,
            sameSite: note?.sameSite,
            updated: note?.updated ?? .never
        )
    }

    private func domain(_ field: ArraySlice<UInt8>) -> String? {
        let name = field.first == UInt8(ascii: ".") ? field.dropFirst() : field
        return CookieHost.canonical(String(decoding: name, as: UTF8.self))
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
        return min(Date(timeIntervalSince1970: Double(seconds)), date + SetCookie.longestLife)
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
