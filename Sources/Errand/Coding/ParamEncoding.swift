import Foundation

/// How arrays, Booleans, nested names, spaces and `nil` are written in a query, a form, or the fields of a multipart body.
///
/// Applies neither to path parameters nor to JSON bodies, except that ``Nils`` applies to JSON.
public struct ParamEncoding: Sendable, Hashable {
    /// How the elements of an array are named; an empty array is not written.
    ///
    /// An element that is an object or an array has an index in every case, `a[0][b]=1`, because PHP cannot assign the members
    /// of `a[][b]=1&a[][c]=2` to elements; Rails reads it as a hash with the key `0`. A parameter that is named `a[]` is named as
    /// one that is `a`, except by ``repeated``.
    public enum Arrays: Sendable, Hashable {
        /// `a[]=1&a[]=2`, as in PHP and Rails.
        case brackets
        /// `a=1&a=2`, as in Django, Go and Spring.
        case repeated
        /// `a[0]=1&a[1]=2`, as in ASP.NET.
        case indexed
    }

    /// How a Boolean is written.
    public enum Booleans: Sendable, Hashable {
        /// `true` and `false`.
        case words
        /// `1` and `0`.
        case digits
    }

    /// How the members of an object are named.
    public enum Nesting: Sendable, Hashable {
        /// `a[b]=1`.
        case brackets
        /// `a.b=1`.
        case dots
    }

    /// How a space is written in a query and a form.
    public enum Spaces: Sendable, Hashable {
        /// `a=b+c`, as browsers send a form (URL Standard section 5.2).
        case plus
        /// `a=b%20c` (RFC 3986 section 2.1), for servers that read `+` as itself.
        case percent
    }

    /// How `nil` is written.
    public enum Nils: Sendable, Hashable {
        /// `null` in JSON; omitted in a query, a form and the fields of a multipart body.
        case nullInJSON
        /// Omitted everywhere. In JSON, all members that are `null` are omitted, including nested members; `null` elements of
        /// arrays remain.
        case omitted
        /// `a=`, an empty text, in a query, a form and the fields of a multipart body; `null` in JSON.
        case empty
    }

    /// How the elements of an array are named; `a[]` by default.
    package let arrays: Arrays
    /// How a Boolean is written; `true` and `false` by default.
    package let booleans: Booleans
    /// How the members of an object are named; `a[b]` by default.
    package let nesting: Nesting
    /// How a space is written; `+` by default.
    package let spaces: Spaces
    /// How `nil` is written; `null` in JSON and omitted elsewhere by default.
    package let nils: Nils

    /// Creates an encoding; an argument that is not given has its default.
    public init(
        arrays: Arrays = .brackets,
        booleans: Booleans = .words,
        nesting: Nesting = .brackets,
        spaces: Spaces = .plus,
        nils: Nils = .nullInJSON
    ) {
        self.arrays = arrays
        self.booleans = booleans
        self.nesting = nesting
        self.spaces = spaces
        self.nils = nils
    }
}

extension ParamEncoding {
    func name(of element: JSONValue, at index: Int, in name: String) -> String {
        let stem = name.hasSuffix("[]") ? name.dropLast(2) : name[...]
        return switch (arrays, element) {
        case (.indexed, _), (_, .array), (_, .object): "\(stem)[\(index)]"
        case (.brackets, _): stem + "[]"
        case (.repeated, _): name
        }
    }

    func name(ofMember member: String, in name: String) -> String {
        nesting == .dots ? "\(name).\(member)" : "\(name)[\(member)]"
    }

    func apply(to params: JSONValue) -> JSONValue { nils == .omitted ? params.withoutNullMembers : params }

    /// `nil` for what is not written, arrays and objects.
    func text(of scalar: JSONValue) -> String? {
        if nils == .empty, scalar == .null { return "" }
        if booleans == .digits, case .bool(let value) = scalar { return value ? "1" : "0" }
        return scalar.scalarText
    }
}

extension JSONValue {
    /// Elements of arrays remain.
    fileprivate var withoutNullMembers: JSONValue {
        switch self {
        case .object(let members): .object(members.filter { $0.value != .null }.mapValues(\.withoutNullMembers))
        case .array(let elements): .array(elements.map(\.withoutNullMembers))
        default: self
        }
    }
}

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
        case .object(let members):
            return members.sorted { $0.key < $1.key }.flatMap { pairs(of: $0.value, name: $0.key, encoding) }
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
            members.sorted { $0.key < $1.key }.flatMap { key, member in
                pairs(of: member, name: encoding.name(ofMember: key, in: name), encoding)
            }
        default:
            encoding.text(of: value).map { [(name, $0)] } ?? []
        }
    }

    private static func pairs(ofElements elements: [JSONValue], name: String, _ encoding: ParamEncoding) -> [Pair] {
        var (all, index) = ([Pair](), 0)
        for element in elements {
            let pairs = pairs(of: element, name: encoding.name(of: element, at: index, in: name), encoding)
            // A server may stop at a missing index, so an element that is not sent does not count.
            if !pairs.isEmpty { index += 1 }
            all += pairs
        }
        return all
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
    fileprivate var isFormSafe: Bool { isASCIIAlphanumeric || "*-._".utf8.contains(self) }
}
