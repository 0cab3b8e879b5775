/// An array that is empty if the server omits it or sends `null`, instead of failing to decode.
///
/// Works with every decoder; with a lenient one, an array that is an empty string is empty as well. Any other value is
/// decoded as without the wrapper. The wrapper cannot be encoded: a type that is encoded as well has other models for its
/// responses.
///
/// ```swift
/// nonisolated struct Shop: Decodable {
///     @EmptyIfMissing var goods: [Goods]
/// }
/// ```
@propertyWrapper public struct EmptyIfMissing<Value: Decodable & ExpressibleByArrayLiteral>: Decodable {
    // The compiler refuses a `var` in a type that is declared `nonisolated`.
    /// The array, which is read-only.
    public let wrappedValue: Value

    /// Creates an array, for instance in a test.
    public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }

    /// Decodes an array; `null` is an empty one.
    public init(from decoder: any Decoder) throws {
        self.init(wrappedValue: try decoder.singleValueContainer().decode(Value?.self) ?? [])
    }
}

extension EmptyIfMissing: Sendable where Value: Sendable {}
extension EmptyIfMissing: Equatable where Value: Equatable {}
extension EmptyIfMissing: Hashable where Value: Hashable {}

extension KeyedDecodingContainer {
    /// Decodes an array that may be missing; called by synthesized conformances of types with such a property.
    public func decode<Value>(
        _ type: EmptyIfMissing<Value>.Type,
        forKey key: Key
    ) throws -> EmptyIfMissing<Value> {
        EmptyIfMissing(wrappedValue: try decodeIfPresent(Value.self, forKey: key) ?? [])
    }
}
