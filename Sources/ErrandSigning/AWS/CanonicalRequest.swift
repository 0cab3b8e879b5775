import Errand

/// How a path is written in a canonical request.
struct CanonicalPath {
    /// Whether dot segments and empty segments are removed, as all services but S3 do.
    var isNormalized: Bool
    /// Whether a path that is percent-encoded is encoded once more, as all services but S3 do.
    var isEncodedTwice: Bool

    func bytes(of path: ArraySlice<UInt8>) -> [UInt8] {
        let slash = UInt8(ascii: "/")
        guard !path.isEmpty else { return [slash] }
        guard !isCanonical(path) else { return Array(path) }
        let path = isNormalized ? Self.normalized(path)[...] : path
        var output: [UInt8] = []
        for segment in path.split(separator: slash, omittingEmptySubsequences: false) {
            if segment.startIndex > path.startIndex { output.append(slash) }
            output += PercentEncoding.encoded(isEncodedTwice ? Array(segment) : PercentEncoding.decoded(segment))
        }
        return output
    }

    /// Whether a path is canonical as it is; false for a few that are.
    private func isCanonical(_ path: ArraySlice<UInt8>) -> Bool {
        let (slash, dot) = (UInt8(ascii: "/"), UInt8(ascii: "."))
        guard path.first == slash else { return false }
        var last: UInt8?
        for byte in path {
            guard byte == slash || byte.isUnreserved else { return false }
            // A segment that is empty or begins with a dot.
            if isNormalized, last == slash, byte == slash || byte == dot { return false }
            last = byte
        }
        return true
    }

    private static func normalized(_ path: ArraySlice<UInt8>) -> [UInt8] {
        let (slash, dot) = (UInt8(ascii: "/"), UInt8(ascii: "."))
        var segments: [ArraySlice<UInt8>] = []
        for segment in path.split(separator: slash) where !segment.elementsEqual([dot]) {
            if !segment.elementsEqual([dot, dot]) { segments.append(segment) } else { _ = segments.popLast() }
        }
        var output: [UInt8] = []
        for segment in segments { output += [slash] + segment }
        if segments.isEmpty || path.last == slash { output.append(slash) }
        return output
    }
}

/// The names and values of a query, each percent-encoded and in the order of their bytes.
struct CanonicalQuery {
    let bytes: [UInt8]

    init(_ query: ArraySlice<UInt8>) {
        let items = query.split(separator: UInt8(ascii: "&")).map { item in
            let name = item.prefix { $0 != UInt8(ascii: "=") }
            let value = item[name.endIndex...].dropFirst()
            return [name, value].map { PercentEncoding.encoded(PercentEncoding.decoded($0, decodesPlus: true)) }
        }
        let sorted = items.sorted { left, right in
            let part = left[0] == right[0] ? 1 : 0
            return left[part].lexicographicallyPrecedes(right[part])
        }
        bytes = Array(sorted.map { $0.joined(separator: "=".utf8) }.joined(separator: "&".utf8))
    }
}

/// The header lines that are signed.
struct CanonicalHeaders {
    /// One line: its name in lower case, and its value as it is sent.
    typealias Field = (name: [UInt8], value: [UInt8])

    /// The lines in the order of their names, each with a line feed; several of a name are one line.
    private(set) var lines: [UInt8] = []
    /// The names, separated by semicolons.
    private(set) var names: [UInt8] = []

    init(_ fields: [Field]) {
        // The indexes are sorted, because each move of a field counts references; fields of one name keep their order.
        let order = fields.indices.sorted { fields[$0].name.lexicographicallyPrecedes(fields[$1].name) }
        var last: Int?
        for index in order {
            if let last, fields[index].name == fields[last].name {
                // The values of lines with one name are a list.
                lines[lines.endIndex - 1] = UInt8(ascii: ",")
            } else {
                if last != nil { names.append(UInt8(ascii: ";")) }
                names += fields[index].name
                lines += fields[index].name
                lines.append(UInt8(ascii: ":"))
            }
            // Without blanks at its ends, and with one space for several blanks.
            lines += fields[index].value.split { " \t\r\n".utf8.contains($0) }.joined(separator: " ".utf8)
            lines.append(UInt8(ascii: "\n"))
            last = index
        }
    }
}
