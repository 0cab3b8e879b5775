import Foundation

/// The parameters of one load: a dictionary literal of `Encodable` values, or one `Encodable` object.
///
/// By default, `GET`, `HEAD` and `DELETE` send parameters in the query, other methods in the body; see ``ParamPlacement``. Names
/// are sent in sorted order, so that equal parameters are equal bytes. In a query or a form, ``ParamEncoding`` decides how nested
/// names, arrays and Booleans are written, `nil` is omitted, and a `Date` is encoded by the service's encoder (ISO 8601 by
/// default). In JSON, `nil` is `null`; to change how `nil` is written, see ``ParamEncoding/Nils``.
///
/// Write an object inside a literal as ``APIParams``, and an array of different types as ``JSONValue``:
///
/// ```swift
/// let params: APIParams = [
///     "filter": ["category": 7, "name": "tea", "shop": nil] as APIParams,
///     "sort": ["price", nil, 1] as JSONValue,
/// ]
/// ```
public struct APIParams: Sendable, ExpressibleByDictionaryLiteral {
    /// The type of a parameter.
    public typealias Value = (any Encodable & Sendable)?

    fileprivate struct Layer: Sendable {
        /// A dictionary of `AnyEncodable`, or an object of the app.
        let source: any Encodable & Sendable
        /// The names of the members of an object that are not sent.
        var removed: Set<String> = []
    }

    private var layers: [Layer]

    /// Creates parameters from a literal; a repeated name has its last value.
    public init(dictionaryLiteral elements: (String, Value)...) {
        layers = [Layer(source: Dictionary(elements.map { ($0, AnyEncodable($1)) }) { $1 })]
    }

    /// Creates parameters from a dictionary.
    public init(_ values: [String: Value]) {
        layers = [Layer(source: values.mapValues(AnyEncodable.init))]
    }

    /// Creates parameters from the members of an object, for example of a form.
    public init(encoding object: some Encodable & Sendable) {
        layers = [Layer(source: object)]
    }

    /// The value for a name.
    ///
    /// A member of an object has the name of its coding key, whatever the service's encoder makes of that. It is a `String` if it is
    /// text, and a ``JSONValue`` otherwise, as `JSONEncoder` encodes it with dates in ISO 8601. Setting a value replaces the
    /// object's member, or adds one, and setting `nil` removes it; the encoder's key strategy applies to these names as well. In an
    /// adapter of parameters, the names are those that are sent.
    public subscript(name: String) -> Value {
        get {
            for layer in layers.reversed() where !layer.removed.contains(name) {
                if let values = layer.values {
                    if let value = values[name] { return value.value }
                    continue
                }
                let encoder = JSONEncoder.iso8601
                encoder.nonConformingFloatEncodingStrategy =
                    .convertToString(positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
                if let member = (try? Self.tree(of: layer, with: encoder))?[name] { return member.plain }
            }
            return nil
        }
        set {
            for index in layers.indices {
                if let values = layers[index].values {
                    layers[index] = Layer(source: values.filter { $0.key != name })
                } else {
                    layers[index].removed.insert(name)
                }
            }
            if let newValue { layers.append(Layer(source: [name: AnyEncodable(newValue)])) }
        }
    }

    /// Returns these parameters and those of `other`; for a name that both are sent with, the value of `other` is used.
    public func merging(_ other: APIParams) -> APIParams {
        var merged = self
        merged.layers += other.layers
        return merged
    }

}

extension APIParams: RedactedDescription {
    /// The names of the parameters, or the type of the object that holds them, without any value.
    public var description: String {
        let texts: [String] = layers.flatMap { layer in
            layer.values?.keys.sorted().map { Redactor.shared.name($0) } ?? ["\(type(of: layer.source))"]
        }
        return "APIParams(\(texts.joined(separator: ", ")))"
    }
}

extension APIParams: Encodable {
    /// Encodes the parameters, so that they can be nested in other parameters.
    ///
    /// - Throws: `EncodingError` for an object that was merged with other parameters, or of which members were removed, which
    ///   only a load can encode.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if layers.count == 1, layers[0].removed.isEmpty { return try container.encode(layers[0].source) }
        let values = layers.compactMap(\.values)
        guard values.count == layers.count else {
            let text = "parameters that change an object cannot be a member of others"
            throw EncodingError.invalidValue(self, .init(codingPath: encoder.codingPath, debugDescription: text))
        }
        // As a dictionary, whose names no key strategy changes.
        try container.encode(values.reduce(into: [String: AnyEncodable]()) { all, values in all.merge(values) { $1 } })
    }
}

extension APIParams {
    /// Returns the members of an object as the encoder encodes them, so that all can be read, changed and encoded.
    func withMembers(by encoder: JSONEncoder) throws(APIError) -> APIParams {
        guard !layers.allSatisfy({ $0.values != nil }), case .object(let members) = try tree(with: encoder) else {
            return self
        }
        return APIParams(members.mapValues(\.plain))
    }

    func json(with encoder: JSONEncoder) throws(APIError) -> Data {
        guard layers.count == 1, layers[0].removed.isEmpty else {
            return try Self.encode(tree(with: encoder), with: encoder)
        }
        return try Self.encode(AnyEncodable(layers[0].source), with: encoder)
    }

    /// An object, or an array or a scalar if the parameters are one.
    func tree(with encoder: JSONEncoder) throws(APIError) -> JSONValue {
        var members: [String: JSONValue] = [:]
        // The names with which the members of objects are sent that have been replaced.
        var sentNames: [String: String] = [:]
        for layer in layers {
            let tree = try Self.tree(of: layer, with: encoder)
            guard case .object(let encoded) = tree else {
                guard layers.count > 1 else { return tree }
                throw APIError(.invalidRequest, reason: "parameters without names cannot be merged with others")
            }
            var more = encoded
            for name in layer.removed {
                let sent = layer.hasDictionary || encoded[name] != nil ? name : encoder.sentName(of: name)
                more[sent] = nil
                if sent != name { sentNames[name] = sent }
            }
            if layer.values != nil, !sentNames.isEmpty {
                // In an order, because two names may be sent as one.
                for (name, value) in more.sorted(by: { $0.key < $1.key }) { members[sentNames[name] ?? name] = value }
            } else {
                members.merge(more) { $1 }
            }
        }
        return .object(members)
    }

    private static func encode(_ value: some Encodable, with encoder: JSONEncoder) throws(APIError) -> Data {
        do {
            let json = try encoder.encode(value)
            // Foundation writes a `Decimal` that is no number as it is.
            if json.range(of: Data("NaN".utf8)) != nil { _ = try JSONReader.value(of: json) }
            return json
        } catch {
            throw APIError(.invalidRequest, reason: "\(name(in: error)) cannot be encoded", underlying: error)
        }
    }

    private static func name(in error: any Error) -> String {
        guard case EncodingError.invalidValue(_, let context)? = error as? EncodingError, !context.codingPath.isEmpty
        else {
            return "a parameter"
        }
        let path = context.codingPath.reduce("") { path, key in
            // A name may be a secret.
            let name = key.intValue == nil ? Redactor.shared.name(key.stringValue) : DecodingError.name(of: key)
            return path.isEmpty || name.hasPrefix("[") ? path + name : "\(path).\(name)"
        }
        return "the parameter \(path)"
    }

    private static func tree(of layer: Layer, with encoder: JSONEncoder) throws(APIError) -> JSONValue {
        if let tree = layer.scalarTree { return tree }
        let json = try encode(AnyEncodable(layer.source), with: encoder)
        return try APIError.mapped(to: .invalidRequest, reason: "a parameter cannot be encoded") {
            try JSONValue(json: json)
        }
    }
}

extension APIParams.Layer {
    /// `nil` for an object of the app.
    fileprivate var values: [String: AnyEncodable]? { source as? [String: AnyEncodable] }

    /// Whose names no key strategy changes.
    fileprivate var hasDictionary: Bool {
        source is APIParams || Mirror(reflecting: source).displayStyle == .dictionary
    }

    /// Without encoding; `nil` unless it contains only scalars that no encoder strategy changes.
    fileprivate var scalarTree: JSONValue? {
        guard let values else { return nil }
        let scalars = values.compactMapValues { JSONValue(scalar: $0.value) }
        return scalars.count == values.count ? .object(scalars) : nil
    }
}

extension JSONEncoder {
    /// What the encoder's key strategy makes of the name of an object's member.
    fileprivate func sentName(of name: String) -> String {
        if case .useDefaultKeys = keyEncodingStrategy { return name }
        let sent = (try? encode(NamedMember(key: EnvelopeKey(name)))).flatMap { try? JSONValue(json: $0) }
        guard case .object(let members)? = sent, let member = members.keys.first else { return name }
        return member
    }
}

private struct NamedMember: Encodable {
    let key: EnvelopeKey

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: EnvelopeKey.self)
        try container.encode(true, forKey: key)
    }
}

extension JSONValue {
    /// Text without its box.
    fileprivate var plain: any Encodable & Sendable { string ?? self }

    /// `nil` for what an encoder strategy may change.
    fileprivate init?(scalar: any Encodable & Sendable) {
        switch scalar {
        case let value as String: self = .string(value)
        case let value as Int: self = .int(Int64(value))
        case let value as Bool: self = .bool(value)
        case let value as JSONValue:
            switch value {
            case .string, .int, .bool, .null: self = value
            case .double, .decimal, .array, .object: return nil
            }
        default: return nil
        }
    }
}

/// Encodes a value with its dynamic type, so that the encoder's strategies for dates and data apply.
struct AnyEncodable: Encodable, Sendable {
    let value: any Encodable & Sendable

    /// `nil` is `null`.
    init(_ value: APIParams.Value) { self.value = value ?? JSONValue.null }

    func encode(to encoder: any Encoder) throws {
        // Foundation writes it as it is, which is no JSON.
        if let number = value as? Decimal, number.isNaN {
            let context = EncodingError.Context(codingPath: encoder.codingPath, debugDescription: "it is no number")
            throw EncodingError.invalidValue(number, context)
        }
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }
}

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
        for (name, value) in jsonObject {
            values[name] = try JSONObjectReader(path: Redactor.shared.name(name)).value(of: value)
        }
        self.init(values)
    }
}

/// Converts values of unknown type to encodable ones.
private struct JSONObjectReader {
    private static let depthLimit = 512

    /// Redacted: a name may be a secret.
    let path: String
    var depth = 1

    func value(of value: Any) throws(APIError) -> any Encodable & Sendable {
        guard depth <= Self.depthLimit else {
            throw APIError(.invalidRequest, reason: "the parameters are nested more than \(Self.depthLimit) deep")
        }
        if let scalar = scalar(value) { return scalar }
        switch value {
        case let elements as [Any]:
            return try elements.enumerated().map { index, element throws(APIError) in
                AnyEncodable(try child(element, at: "\(path)[\(index)]"))
            }
        case let members as [String: Any]:
            var values: [String: AnyEncodable] = [:]
            for (name, member) in members {
                values[name] = AnyEncodable(try child(member, at: "\(path).\(Redactor.shared.name(name))"))
            }
            return values
        default:
            let mirror = Mirror(reflecting: value)
            guard mirror.displayStyle == .optional else {
                let type = "a \(type(of: value)), which JSON cannot represent"
                throw APIError(.invalidRequest, reason: "the parameter \(path) is \(type): convert it before")
            }
            guard let value = mirror.children.first?.value else { return JSONValue.null }
            return try child(value, at: path)
        }
    }

    private func child(_ value: Any, at path: String) throws(APIError) -> any Encodable & Sendable {
        try JSONObjectReader(path: path, depth: depth + 1).value(of: value)
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
