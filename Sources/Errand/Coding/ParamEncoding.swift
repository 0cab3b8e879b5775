/// How arrays, Booleans and nested names are written in a query, a form, or the fields of a multipart body.
///
/// JSON bodies and path parameters do not depend on it.
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

    /// How the elements of an array are named; `a[]` by default.
    public var arrays: Arrays
    /// How a Boolean is written; `true` and `false` by default.
    public var booleans: Booleans
    /// How the members of an object are named; `a[b]` by default.
    public var nesting: Nesting

    /// Creates an encoding; each part is the default unless given.
    public init(arrays: Arrays = .brackets, booleans: Booleans = .words, nesting: Nesting = .brackets) {
        self.arrays = arrays
        self.booleans = booleans
        self.nesting = nesting
    }
}

extension ParamEncoding {
    /// Returns the name of an element of the array `name`.
    func name(ofElement index: Int, in name: String) -> String {
        switch arrays {
        case .brackets: name + "[]"
        case .repeated: name
        case .indexed: "\(name)[\(index)]"
        }
    }

    /// Returns the name of a member of the object `name`.
    func name(ofMember member: String, in name: String) -> String {
        nesting == .dots ? "\(name).\(member)" : "\(name)[\(member)]"
    }

    /// Returns the text of a scalar; `nil` for `null`, arrays and objects.
    func text(of scalar: JSONValue) -> String? {
        if booleans == .digits, case .bool(let value) = scalar { return value ? "1" : "0" }
        return scalar.scalarText
    }
}
