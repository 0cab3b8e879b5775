/// How arrays, Booleans, nested names, spaces and `nil` are written in a query, a form, or the fields of a multipart body.
///
/// Applies neither to path parameters nor to JSON bodies, except that ``Nils`` applies to JSON.
public struct ParamEncoding: Sendable, Hashable {
    /// How the elements of an array are named.
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
    func name(ofElement index: Int, in name: String) -> String {
        switch arrays {
        case .brackets: name + "[]"
        case .repeated: name
        case .indexed: "\(name)[\(index)]"
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
