import Foundation

extension APIParams {
    /// Creates parameters from a dictionary of values of unknown types, such as a result of `JSONSerialization`.
    ///
    /// The values may be strings, Booleans, numbers, `Date`, `Data`, `URL`, `UUID`, `nil`, `NSNull`, ``JSONValue``,
    /// ``APIParams``, and arrays and dictionaries of these, nested at most 512 levels deep. The service's encoder encodes dates
    /// and data, as in a literal.
    ///
    /// - Throws: `invalidRequest` for any other value; ``APIError/reason`` has the name and the type of the parameter, as in
    ///   `the parameter filter.tags[1] is a UIColor, which JSON cannot represent`.
    public init(jsonObject: [String: Any]) throws(APIError) {
        var values: [String: Value] = [:]
        for (name, value) in jsonObject { values[name] = try JSONObjectReader(member: name).value(of: value) }
        self.init(values)
    }
}

/// Converts values of unknown type to encodable ones.
private struct JSONObjectReader {
    private static let depthLimit = 512

    /// Redacted: a name may be a secret.
    private let path: String
    private let depth: Int

    init(member name: String) { self.init(path: Redactor.shared.name(name), depth: 1) }

    private init(path: String, depth: Int) { (self.path, self.depth) = (path, depth) }

    func value(of value: Any) throws(APIError) -> any Encodable & Sendable {
        guard depth <= Self.depthLimit else {
            throw APIError(.invalidRequest, reason: "the parameters are nested more than \(Self.depthLimit) deep")
        }
        if let scalar = scalar(value) { return scalar }
        switch value {
        case let elements as [Any]: return try array(elements)
        case let members as [String: Any]: return try object(members)
        default: return try wrapped(value)
        }
    }

    private func array(_ elements: [Any]) throws(APIError) -> [AnyEncodable] {
        var values: [AnyEncodable] = []
        for (index, element) in elements.enumerated() {
            let reader = JSONObjectReader(path: "\(path)[\(index)]", depth: depth + 1)
            values.append(AnyEncodable(try reader.value(of: element)))
        }
        return values
    }

    private func object(_ members: [String: Any]) throws(APIError) -> [String: AnyEncodable] {
        var values: [String: AnyEncodable] = [:]
        for (name, member) in members {
            let reader = JSONObjectReader(path: "\(path).\(Redactor.shared.name(name))", depth: depth + 1)
            values[name] = AnyEncodable(try reader.value(of: member))
        }
        return values
    }

    /// Throws `invalidRequest` for what is not an optional.
    private func wrapped(_ value: Any) throws(APIError) -> any Encodable & Sendable {
        let mirror = Mirror(reflecting: value)
        guard mirror.displayStyle == .optional else {
            let reason = "the parameter \(path) is a \(type(of: value)), which JSON cannot represent: convert it before"
            throw APIError(.invalidRequest, reason: reason)
        }
        guard let value = mirror.children.first?.value else { return JSONValue.null }
        return try JSONObjectReader(path: path, depth: depth + 1).value(of: value)
    }

    private static let scalars: [any (Encodable & Sendable).Type] = [
        String.self, Bool.self, Int.self, Int8.self, Int16.self, Int32.self, Int64.self, UInt.self, UInt8.self,
        UInt16.self, UInt32.self, UInt64.self, Double.self, Float.self, Decimal.self, Date.self, Data.self, URL.self,
        UUID.self, JSONValue.self, APIParams.self,
    ]

    private func scalar(_ value: Any) -> (any Encodable & Sendable)? {
        func cast<Value: Encodable & Sendable>(to _: Value.Type) -> (any Encodable & Sendable)? { value as? Value }
        if value is NSNull { return JSONValue.null }
        // An object, which Apple's platforms would convert to a Boolean as well as to any number.
        if type(of: value) is NSNumber.Type { return JSONValue(number: value) }
        return Self.scalars.lazy.compactMap { cast(to: $0) }.first
    }
}

extension JSONValue {
    /// `nil` if JSON has no such number.
    fileprivate init?(number: Any) {
        guard JSONSerialization.isValidJSONObject([number]),
            let text = try? JSONSerialization.data(withJSONObject: [number]),
            let value = try? JSONValue(json: text)[0]
        else { return nil }
        self = value
    }
}
