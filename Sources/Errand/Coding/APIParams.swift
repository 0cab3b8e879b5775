import Foundation

/// The parameters of one load: a dictionary literal of `Encodable` values, or one `Encodable` object.
///
/// ``ParamPlacement`` is where they are encoded: `GET`, `HEAD` and `DELETE` encode them in the query by default, other methods
/// in the body. Names are sent in sorted order, so that equal parameters are equal bytes. In a query or a form,
/// ``ParamEncoding`` is how nested names, arrays and Booleans are written, `nil` is omitted, and a `Date` is encoded by the
/// service's encoder (ISO 8601 by default). In JSON, `nil` is `null`; see
/// ``ParamEncoding/nils`` for both.
///
/// An object in a literal is parameters as well, and an array of different types is a ``JSONValue``:
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

    /// The value of one name; apart if it is a text, as most are, because casts of an existential are slow.
    package enum Member: Sendable {
        case text(String)
        case other(any Encodable & Sendable)
    }

    fileprivate enum Layer: Sendable {
        case values([String: Member])
        case object(any Encodable & Sendable)
    }

    private var layers: [Layer]

    /// Creates parameters from a literal; a repeated name has its last value.
    public init(dictionaryLiteral elements: (String, Value)...) {
        layers = [.values(Dictionary(elements.map { ($0, Member($1)) }) { $1 })]
    }

    /// Creates parameters from a dictionary.
    public init(_ values: [String: Value]) {
        layers = [.values(values.mapValues(Member.init))]
    }

    /// Creates parameters from the members of an object.
    public init(_ object: some Encodable & Sendable) {
        layers = [.object(object)]
    }

    /// The value set by name; it replaces a member of an object, and `nil` removes the value that was set.
    public subscript(name: String) -> Value {
        get { members[name]?.value }
        set {
            for index in layers.indices {
                guard case .values(var values) = layers[index] else { continue }
                values[name] = nil
                layers[index] = .values(values)
            }
            guard let newValue else { return }
            layers.append(.values([name: Member(newValue)]))
        }
    }

    /// Creates parameters from their members.
    package init(members: [String: Member]) {
        layers = [.values(members)]
    }

    /// Adds members, which replace others of the same names.
    package mutating func add(_ members: [String: Member]) {
        layers.append(.values(members))
    }

    /// Returns these parameters and those of `other`; a name in both has the value of `other`.
    public func merging(_ other: APIParams) -> APIParams {
        var merged = self
        merged.layers += other.layers
        return merged
    }

    private var members: [String: Member] {
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

    /// A mirror with ``description`` alone, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: ["params": description]) }
}

extension APIParams: Encodable {
    /// Encodes the parameters, so that they can be a member of others.
    ///
    /// - Throws: `EncodingError` for an object that was merged with other parameters, which only a load can encode.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if layers.count == 1, case .object(let object) = layers[0] { return try container.encode(object) }
        guard layers.allSatisfy(\.isValues) else {
            let text = "parameters that merge an object with others cannot be a member of others"
            throw EncodingError.invalidValue(self, .init(codingPath: encoder.codingPath, debugDescription: text))
        }
        // As a dictionary, whose names no key strategy changes.
        try container.encode(members)
    }
}

extension APIParams {
    func json(with encoder: JSONEncoder) throws(APIError) -> Data {
        guard layers.count == 1 else { return try Self.encode(tree(with: encoder), with: encoder) }
        return try Self.encode(layers[0], with: encoder)
    }

    /// Returns the parameters as one JSON value: an object, or an array or a scalar if they are one.
    func tree(with encoder: JSONEncoder) throws(APIError) -> JSONValue {
        var members: [String: JSONValue] = [:]
        for layer in layers {
            let tree = try Self.tree(of: layer, with: encoder)
            guard layers.count > 1 else { return tree }
            guard case .object(let more) = tree else {
                throw APIError(.invalidRequest, reason: "parameters without names cannot be merged with others")
            }
            members.merge(more) { $1 }
        }
        return .object(members)
    }

    /// The number of members; an estimate if there are objects or repeated names.
    var estimatedCount: Int {
        layers.reduce(0) { count, layer in
            guard case .values(let values) = layer else { return count + 8 }
            return count + values.count
        }
    }

    /// Calls `body` with the name and the value of each member of ``tree(with:)``: sorted by name as they are sent, or in any
    /// order if all of them are scalars, of which no two are written with one name.
    ///
    /// - Throws: What `body` throws, and `invalidRequest` if there are no names, or a value cannot be encoded.
    func forEachMember(
        with encoder: JSONEncoder,
        _ body: (String, JSONValue) throws(APIError) -> Void
    ) throws(APIError) {
        if layers.count == 1, case .values(let values) = layers[0], values.values.allSatisfy(\.isScalar) {
            for (name, value) in values { if let scalar = value.scalar { try body(name, scalar) } }
            return
        }
        guard case .object(let members) = try tree(with: encoder) else {
            throw APIError(.invalidRequest, reason: "parameters without names cannot be signed")
        }
        for (name, value) in members.sorted(by: { $0.key < $1.key }) { try body(name, value) }
    }

    private static func encode(_ layer: Layer, with encoder: JSONEncoder) throws(APIError) -> Data {
        switch layer {
        case .values(let values): try encode(values, with: encoder)
        case .object(let object): try encode(AnyEncodable(value: object), with: encoder)
        }
    }

    private static func encode(_ value: some Encodable, with encoder: JSONEncoder) throws(APIError) -> Data {
        do {
            return try encoder.encode(value)
        } catch {
            throw APIError(.invalidRequest, reason: "\(name(in: error)) cannot be encoded", underlying: error)
        }
    }

    /// Returns the name of the parameter, and of its member, that an error is about.
    private static func name(in error: any Error) -> String {
        guard case EncodingError.invalidValue(_, let context)? = error as? EncodingError, !context.codingPath.isEmpty
        else {
            return "a parameter"
        }
        return "the parameter \(context.codingPath.map(\.stringValue).joined(separator: "."))"
    }

    private static func tree(of layer: Layer, with encoder: JSONEncoder) throws(APIError) -> JSONValue {
        if let tree = layer.scalarTree { return tree }
        let json = try encode(layer, with: encoder)
        do {
            return try JSONValue(json: json)
        } catch {
            throw APIError(.invalidRequest, reason: "a parameter cannot be encoded", underlying: error)
        }
    }
}

extension APIParams.Layer {
    fileprivate var isValues: Bool {
        guard case .values = self else { return false }
        return true
    }

    /// The layer as a JSON value, without encoding; `nil` unless it contains only scalars that no encoder strategy changes.
    fileprivate var scalarTree: JSONValue? {
        guard case .values(let values) = self else { return nil }
        // Unlike a dictionary that is filled name by name, this computes no hashes.
        return (try? values.mapValues { try $0.requiredScalar }).map(JSONValue.object)
    }
}

/// Encodes a value with its dynamic type, so that the encoder's strategies for dates and data apply.
struct AnyEncodable: Encodable, Sendable {
    let value: any Encodable & Sendable

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }
}
