import Foundation

/// The name of a file in a response (RFC 6266); a parameter that cannot be read is left out.
enum ContentDisposition {
    /// The value of `filename*` where it can be decoded (RFC 8187), else that of `filename`; it may be any text.
    static func filename(in header: String) -> String? {
        let parameters = HeaderParameter.parse(header).parameters
        let first = { (name: String) in parameters.first { $0.name.lowercased() == name && $0.value != nil } }
        let extended = first("filename*").flatMap { $0.isQuoted ? nil : $0.value }
        return extended.flatMap(decoded) ?? first("filename")?.value
    }

    private static func decoded(_ value: String) -> String? {
        let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        let (text, bytes) = (parts[2].utf8, PercentEncoding.decoded(parts[2].utf8))
        // Each `%` must begin a triplet.
        guard text.count - bytes.count == 2 * text.count(where: { $0 == UInt8(ascii: "%") }) else { return nil }
        return switch parts[0].lowercased() {
        case "utf-8", "utf8": String(validating: bytes, as: UTF8.self)
        case "iso-8859-1": String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        default: nil
        }
    }
}

/// The name of a file that a server or a URL has chosen, made safe.
enum SafeFilename {
    static let unnamed = "download"
    /// So that " 2" and so on may be added.
    private static let longestName = 240
    private static let longestExtension = 32
    /// On Windows, to which a file may be sent.
    private static let devices = Set(
        ["CON", "PRN", "AUX", "NUL"] + "0123456789¹²³".flatMap { ["COM\($0)", "LPT\($0)"] }
    )

    /// `text`, else the last segment of `url`, else "download": one component of a path, neither hidden nor reserved, without
    /// control characters.
    static func name(_ text: String?, url: URL) -> String {
        text.flatMap(safe) ?? safe(url.lastPathComponent) ?? unnamed
    }

    static func safe(_ text: String) -> String? {
        let component =
            text.unicodeScalars.split(omittingEmptySubsequences: false) { $0 == "/" || $0 == "\\" }.last ?? []
        // By scalars, because a dot before a combining mark is not the character ".".
        let visible = component.filter { !hidden.contains($0.properties.generalCategory) }
        let stem = visible.drop { $0 == "." || $0 == " " }
        var name = shortened(String(String.UnicodeScalarView(stem)))
        while let last = name.unicodeScalars.last, last == "." || last == " " { name.unicodeScalars.removeLast() }
        guard !name.isEmpty else { return nil }
        let device = String(String.UnicodeScalarView(name.unicodeScalars.prefix { $0 != "." && $0 != " " }))
        return devices.contains(device.uppercased()) ? "_" + name : name
    }

    /// Some of the format characters change the order of the others, so that an extension seems to be another one.
    private static let hidden: Set<Unicode.GeneralCategory> = [
        .control, .format, .lineSeparator, .paragraphSeparator, .surrogate,
    ]

    /// Keeps the extension.
    private static func shortened(_ name: String) -> String {
        guard name.utf8.count > longestName else { return name }
        let (_, dotted) = split(name)
        let ending = dotted.utf8.count <= longestExtension ? dotted : ""
        // A character may be longer than a name; inside a scalar, an index is that of the scalar.
        let end = name.utf8.index(name.startIndex, offsetBy: longestName - ending.utf8.count)
        return String(name.unicodeScalars[..<end]) + ending
    }

    /// Returns the name and its extension with the dot, which may be empty.
    static func split(_ name: String) -> (stem: String, dotted: String) {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return (name, "") }
        return (String(name[..<dot]), String(name[dot...]))
    }
}
