import Foundation

/// A JSON value of an archive, whose members keep their order.
enum HARValue {
    case string(String)
    case int(Int64)
    /// A time in milliseconds, from whole microseconds, so that sums are exact.
    case milliseconds(Int64)
    case bool(Bool)
    case array([HARValue])
    case object([(name: String, value: HARValue?)])

    /// Appends the JSON text; a member without a value is left out.
    func write(to text: inout [UInt8]) {
        switch self {
        case .string(let value): Self.quote(value, to: &text)
        case .int(let value): text += "\(value)".utf8
        case .milliseconds(let value): text += Self.decimal(value).utf8
        case .bool(let value): text += (value ? "true" : "false").utf8
        case .array(let values): Self.write(values, between: ("[", "]"), to: &text) { $0.write(to: &$1) }
        case .object(let members):
            Self.write(members.filter { $0.value != nil }, between: ("{", "}"), to: &text) { member, text in
                Self.quote(member.name, to: &text)
                text.append(UInt8(ascii: ":"))
                member.value?.write(to: &text)
            }
        }
    }

    private static func write<Element>(
        _ elements: [Element],
        between brackets: (String, String),
        to text: inout [UInt8],
        _ write: (Element, inout [UInt8]) -> Void
    ) {
        text += brackets.0.utf8
        for (index, element) in elements.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            write(element, &text)
        }
        text += brackets.1.utf8
    }

    private static func decimal(_ microseconds: Int64) -> String {
        guard !microseconds.isMultiple(of: 1_000) else { return "\(microseconds / 1_000)" }
        return String(format: "%.3f", Double(microseconds) / 1_000)
    }

    /// Escapes what RFC 8259 requires, and U+2028 and U+2029, which end a line in scripts.
    private static func quote(_ string: String, to text: inout [UInt8]) {
        text.append(UInt8(ascii: "\""))
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += #"\""#.utf8
            case "\\": text += #"\\"#.utf8
            case "\n": text += #"\n"#.utf8
            case "\r": text += #"\r"#.utf8
            case "\t": text += #"\t"#.utf8
            case "\u{00}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}":
                let digits = String(scalar.value, radix: 16)
                text += "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".utf8
            default: text += UTF8.encode(scalar).map { Array($0) } ?? []
            }
        }
        text.append(UInt8(ascii: "\""))
    }
}

extension HARValue: ExpressibleByStringLiteral {
    init(stringLiteral value: String) {
        self = .string(value)
    }
}
