import Foundation

/// The parameters of a call by name, from the query and from a JSON or form body.
struct ShopInputs: Sendable {
    private enum Scalar: Decodable {
        case text(String)
        case other

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let text = try? container.decode(String.self) {
                self = .text(text)
            } else if let number = try? container.decode(Int.self) {
                self = .text(String(number))
            } else {
                self = .other
            }
        }
    }

    /// The parameters as text.
    let values: [String: String]

    init(_ request: RecordedRequest) {
        let items = request.queryItems + (Self.isForm(request) ? request.formItems : [])
        let isObject = request.body.first == UInt8(ascii: "{")
        let json = isObject ? (try? request.json([String: Scalar].self)) ?? [:] : [:]
        values = json.reduce(into: Dictionary(items.map { ($0.name, $0.value) }) { $1 }) { values, entry in
            if case .text(let text) = entry.value { values[entry.key] = text }
        }
    }

    /// Returns a parameter as text; `nil` when it is missing.
    subscript(name: String) -> String? { values[name] }

    /// Returns a parameter as an integer; `standard` when it is missing.
    ///
    /// - Throws: ``ShopRefusal`` for an invalid parameter, and for a missing one without a `standard`.
    func integer(
        _ name: String,
        in range: ClosedRange<Int>,
        standard: Int? = nil
    ) throws(ShopRefusal) -> Int {
        guard let text = values[name] else {
            guard let standard else { throw .badParameter }
            return standard
        }
        guard let number = Int(text), range.contains(number) else { throw .badParameter }
        return number
    }

    private static func isForm(_ request: RecordedRequest) -> Bool {
        request.header("Content-Type")?.hasPrefix("application/x-www-form-urlencoded") == true
    }
}
