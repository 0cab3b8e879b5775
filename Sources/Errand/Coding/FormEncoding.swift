import Foundation

/// Encodes names and values as `application/x-www-form-urlencoded`, for queries and bodies.
enum FormEncoding {
    typealias Pair = (name: String, value: String)

    /// Returns the text of pairs by the WHATWG serializer (URL Standard section 5.2).
    static func serialize(_ pairs: [Pair], _ spaces: ParamEncoding.Spaces = .plus) -> String {
        pairs.map { escape($0.name, spaces) + "=" + escape($0.value, spaces) }.joined(separator: "&")
    }

    /// Returns the pairs sorted by name, and none for `null`.
    static func pairs(of tree: JSONValue, _ encoding: ParamEncoding = ParamEncoding()) throws(APIError) -> [Pair] {
        switch tree {
        case .null: return []
        case .object(let members): return sorted(members).flatMap { pairs(of: $0.value, name: $0.key, encoding) }
        default:
            let reason = "parameters without names cannot be encoded in a query or a form"
            throw APIError(.invalidRequest, reason: reason)
        }
    }

    private static func pairs(of value: JSONValue, name: String, _ encoding: ParamEncoding) -> [Pair] {
        switch value {
        case .array(let elements):
            pairs(ofElements: elements, name: name, encoding)
        case .object(let members):
            sorted(members).flatMap { key, member in
                pairs(of: member, name: encoding.name(ofMember: key, in: name), encoding)
            }
        default:
            encoding.text(of: value).map { [(name, $0)] } ?? []
        }
    }

    private static func pairs(ofElements elements: [JSONValue], name: String, _ encoding: ParamEncoding) -> [Pair] {
        var (all, index) = ([Pair](), 0)
        for element in elements {
            let pairs = pairs(of: element, name: encoding.name(ofElement: index, in: name), encoding)
            // A server may stop at a missing index, so an element that is not sent does not count.
            if !pairs.isEmpty { index += 1 }
            all += pairs
        }
        return all
    }

    private static func sorted(_ members: [String: JSONValue]) -> [(key: String, value: JSONValue)] {
        members.sorted { $0.key < $1.key }
    }

    private static func escape(_ text: String, _ spaces: ParamEncoding.Spaces) -> String {
        guard !text.utf8.allSatisfy(\.isFormSafe) else { return text }
        let (space, plus) = (UInt8(ascii: " "), UInt8(ascii: "+"))
        let escaped = PercentEncoding.encoded(text.utf8) { $0.isFormSafe || $0 == space && spaces == .plus }
        return String(decoding: escaped.map { $0 == space ? plus : $0 }, as: UTF8.self)
    }
}

extension JSONValue {
    /// `nil` for `null`, arrays and objects.
    var scalarText: String? {
        switch self {
        case .string(let value): value
        case .bool(let value): value ? "true" : "false"
        case .int(let value): String(value)
        case .double(let value): value.longInteger.map { "\($0)" } ?? String(value)
        case .decimal(let value): value.description
        case .null, .array, .object: nil
        }
    }
}

extension Double {
    /// The digits of an integer that is longer than `Int`, which servers that read integers do not accept as `1e+19`.
    var longInteger: Decimal? { 0x1p63..<1e38 ~= magnitude ? Decimal(string: "\(self)") : nil }
}

extension UInt8 {
    /// URL Standard, application/x-www-form-urlencoded percent-encode set.
    fileprivate var isFormSafe: Bool {
        switch self {
        case UInt8(ascii: "*"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): true
        default: isASCIIAlphanumeric
        }
    }
}
