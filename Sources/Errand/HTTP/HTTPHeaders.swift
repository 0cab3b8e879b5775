import Foundation

/// Header lines in the order in which they are sent or were received, duplicates included.
public struct HTTPHeaders: Sendable, ExpressibleByDictionaryLiteral {
    private var fields: [HTTPField]

    /// Creates headers from fields, in the same order.
    public init(_ fields: [HTTPField] = []) {
        self.fields = fields
    }

    /// Creates headers from a literal, in the same order.
    ///
    /// A name may occur more than once; a name whose value is `nil` adds no line.
    public init(dictionaryLiteral elements: (String, String?)...) {
        fields = elements.compactMap { name, value in value.map { HTTPField(name, $0) } }
    }

    /// The first value of `name`; setting a value replaces all lines of this name, and setting `nil` removes them.
    public subscript(name: String) -> String? {
        get { fields.first { $0.isNamed(name) }?.value }
        set {
            let position = fields.firstIndex { $0.isNamed(name) } ?? fields.endIndex
            remove(name)
            guard let newValue else { return }
            fields.insert(HTTPField(name, newValue), at: position)
        }
    }

    /// Every value of `name`, in their order.
    public func values(_ name: String) -> [String] {
        fields(named: name).map(\.value)
    }

    package func fields(named name: String) -> [HTTPField] {
        fields.filter { $0.isNamed(name) }
    }

    /// Adds a line at the end.
    public mutating func append(_ name: String, _ value: String) {
        fields.append(HTTPField(name, value))
    }

    package mutating func append(_ field: HTTPField) {
        fields.append(field)
    }

    /// Removes every line called `name`.
    public mutating func remove(_ name: String) {
        fields.removeAll { $0.isNamed(name) }
    }

    /// Returns these headers and those of `other`; a name in both keeps only the lines of `other`.
    public func merging(_ other: HTTPHeaders) -> HTTPHeaders {
        HTTPHeaders(fields.filter { other[$0.name] == nil } + other.fields)
    }
}

extension HTTPHeaders {
    /// Returns the `Authorization` line of a bearer token (RFC 6750 section 2.1), or no line without a token.
    public static func authorization(bearer token: String?) -> HTTPHeaders {
        ["Authorization": token.map { "Bearer \($0)" }]
    }

    /// Returns the `Authorization` line of a user and a password (RFC 7617), in UTF-8.
    ///
    /// - Throws: `invalidRequest` if `user` contains a colon, because a server would read the rest as the password.
    public static func authorization(user: String, password: String) throws(TransportError) -> HTTPHeaders {
        guard !user.utf8.contains(UInt8(ascii: ":")) else {
            throw TransportError(.invalidRequest, "the user of a basic authorization has a colon")
        }
        return ["Authorization": "Basic \(Data("\(user):\(password)".utf8).base64EncodedString())"]
    }
}

extension HTTPHeaders: RandomAccessCollection {
    /// The position of the first line.
    public var startIndex: Int { fields.startIndex }
    /// The position after the last line.
    public var endIndex: Int { fields.endIndex }
    /// The line at `position`.
    public subscript(position: Int) -> HTTPField { fields[position] }
}
