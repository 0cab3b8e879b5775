import Foundation

/// The parameters of one load: a dictionary literal of `Encodable` values, or one `Encodable` object.
///
/// `GET`, `HEAD` and `DELETE` put them into the query, other methods into the body. Names are sent in sorted order, so
/// equal parameters give equal bytes. In a query or a form, nested names become `a[b]`, arrays `a[]`, `nil` is left out,
/// a `Bool` is `true` or `false`, and a `Date` is what the service's encoder makes of it (ISO 8601 by default).
public struct APIParams: Sendable, ExpressibleByDictionaryLiteral {
    /// What a parameter may be.
    public typealias Value = any Encodable & Sendable

    fileprivate enum Layer: Sendable {
        case values([String: Value])
        case object(Value)
    }

    private var layers: [Layer]

    /// Creates parameters from a literal; of a name that stands in it twice the later value counts.
    public init(dictionaryLiteral elements: (String, Value)...) {
        layers = [.values(Dictionary(elements) { $1 })]
    }

    /// Creates parameters from a dictionary.
    public init(_ values: [String: Value]) {
        layers = [.values(values)]
    }

    /// Creates parameters from the members of an object.
    public init(_ object: some Encodable & Sendable) {
        layers = [.object(object)]
    }

    /// The value given by name; setting it wins over a member of an object, setting `nil` takes back a value given by name.
    public subscript(name: String) -> Value? {
        get { values[name] }
        set {
            for index in layers.indices {
                guard case .values(var values) = layers[index] else { continue }
                values[name] = nil
                layers[index] = .values(values)
            }
            guard let newValue else { return }
            layers.append(.values([name: newValue]))
        }
    }

    /// Returns these parameters and those of `other`; a name in both has the value of `other`.
    public func merging(_ other: APIParams) -> APIParams {
        var merged = self
        merged.layers += other.layers
        return merged
    }

    private var values: [String: Value] {
        layers.reduce(into: [:]) { all, layer in
            guard case .values(let values) = layer else { return }
            all.merge(values) { $1 }
        }
    }
}

extension APIParams: CustomStringConvertible, CustomReflectable {
    /// The names of the parameters, or the type of the object that holds them, without any value.
    public var description: String {
        let texts = layers.flatMap { layer in
            switch layer {
            case .values(let values): values.keys.sorted()
            case .object(let object): ["\(type(of: object))"]
            }
        }
        return "APIParams(\(texts.joined(separator: ", ")))"
    }

    /// The parameters as ``description`` has them, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: ["params": description]) }
}

extension APIParams {
    /// The JSON text of these parameters.
    func json(_ encoder: JSONEncoder) throws(APIError) -> Data {
        guard layers.count == 1 else { return try Self.encode(tree(encoder), encoder) }
        return try Self.encode(layers[0], encoder)
    }

    /// The parameters as one JSON value, an object unless they are an array or a scalar.
    func tree(_ encoder: JSONEncoder) throws(APIError) -> JSONValue {
        var trees: [JSONValue] = []
        for layer in layers {
            if let tree = layer.scalarTree {
                trees.append(tree)
            } else {
                trees.append(try Self.tree(Self.encode(layer, encoder)))
            }
        }
        guard trees.count != 1 else { return trees[0] }
        return .object(try Self.merge(trees))
    }

    private static func merge(_ trees: [JSONValue]) throws(APIError) -> [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        for tree in trees {
            guard case .object(let more) = tree else {
                throw APIError(.invalidRequest, reason: "parameters without names cannot be joined with others")
            }
            members.merge(more) { $1 }
        }
        return members
    }

    private static func encode(_ layer: Layer, _ encoder: JSONEncoder) throws(APIError) -> Data {
        switch layer {
        case .values(let values): try encode(values.mapValues(AnyEncodable.init), encoder)
        case .object(let object): try encode(AnyEncodable(value: object), encoder)
        }
    }

    private static func encode(_ value: some Encodable, _ encoder: JSONEncoder) throws(APIError) -> Data {
        do {
            return try encoder.encode(value)
        } catch {
            throw APIError(.invalidRequest, reason: "a parameter cannot be encoded", underlying: error)
        }
    }

    private static func tree(_ json: Data) throws(APIError) -> JSONValue {
        do {
            return try JSONValue(json: json)
        } catch {
            throw APIError(.invalidRequest, reason: "a parameter cannot be encoded", underlying: error)
        }
    }
}

extension APIParams.Layer {
    /// The layer as a JSON value without the way over its text; `nil` unless it holds nothing but scalars that no strategy
    /// of an encoder changes.
    fileprivate var scalarTree: JSONValue? {
        guard case .values(let values) = self else { return nil }
        var members: [String: JSONValue] = [:]
        for (name, value) in values {
            guard let scalar = JSONValue(scalar: value) else { return nil }
            members[name] = scalar
        }
        return .object(members)
    }
}

extension JSONValue {
    fileprivate init?(scalar: APIParams.Value) {
        switch scalar {
        case let value as String: self = .string(value)
        case let value as Int: self = .int(Int64(value))
        case let value as Bool: self = .bool(value)
        default: return nil
        }
    }
}

/// Hands a value to the encoder by its own type, so that the encoder's strategies for dates and data apply.
private struct AnyEncodable: Encodable {
    let value: APIParams.Value

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }
}
