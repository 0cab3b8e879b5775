/// The source of a load's parameters.
///
/// ```swift
/// list.loadData(params: ["text": "pen"])          // a literal, or nil for none
/// list.loadData(params: .given(params))           // a value
/// list.loadData()                                 // those of the param source
/// ```
public enum RequestParams: Sendable {
    /// The param source of the request, which is called when the load begins.
    case source
    /// These, or none; the param source is not called, and parts come from ``BaseAPIRequest/appendParts(to:)`` alone.
    case given(APIParams?)
}

extension RequestParams: ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral {
    /// Creates parameters from a literal, as ``APIParams`` does.
    public init(dictionaryLiteral elements: (String, APIParams.Value)...) {
        self = .given(APIParams(Dictionary(elements) { _, last in last }))
    }

    /// Sends no parameters.
    public init(nilLiteral: ()) { self = .given(nil) }
}
