import Foundation

/// The kind of the value that a decoder is about to decode, where it can be found without a failed attempt.
///
/// A `Decoder` does not expose it. `JSONDecoder` throws an error with the coding path for each wrong attempt, whose cost
/// grows with the square of the depth; the decoder's mirror has the kind as the name of an enum case. How the names are
/// assigned is observed once; where they are not as expected, there is no kind, and attempts remain.
enum JSONKind: CaseIterable {
    case bool, number, string, array, object

    /// The depth from which on a mirror costs less than the attempts.
    static let leastDepth = 16
    /// The depth of the value that is being decoded, below the outermost ``JSONValue``.
    @TaskLocal static var depth: Int?

    /// Returns the kind of the next value; `nil` for `null` and for every decoder but that of `JSONDecoder`.
    init?(of decoder: any Decoder) {
        guard let names = Self.names, ObjectIdentifier(type(of: decoder)) == names.decoder else { return nil }
        guard let name = Self.name(of: decoder), let kind = names.kinds[name] else { return nil }
        self = kind
    }
}

extension JSONKind {
    /// The type of `JSONDecoder`'s decoders, and the names that their mirrors have for the kinds.
    private struct Names: Sendable {
        let decoder: ObjectIdentifier
        let kinds: [String: JSONKind]
    }

    /// A value whose decoding returns the decoder's type, and the name for the value's kind.
    private struct Observation: Decodable {
        let decoder: ObjectIdentifier
        let name: String?

        init(from decoder: any Decoder) throws {
            self.decoder = ObjectIdentifier(type(of: decoder))
            name = JSONKind.name(of: decoder)
        }
    }

    private static let names: Names? = {
        let samples = Data(#"[true, 1, "", [], {}]"#.utf8)
        guard let observations = try? JSONDecoder().decode([Observation].self, from: samples) else { return nil }
        let pairs = zip(observations, allCases).compactMap { observation, kind in observation.name.map { ($0, kind) } }
        let kinds = Dictionary(pairs, uniquingKeysWith: { first, _ in first })
        guard let decoder = observations.first?.decoder, kinds.count == allCases.count else { return nil }
        return Names(decoder: decoder, kinds: kinds)
    }()

    /// Returns the name of the enum case at the end of the decoder's first property, a list of the values being decoded.
    private static func name(of decoder: any Decoder) -> String? {
        guard let values = Mirror(reflecting: decoder).children.first?.value else { return nil }
        let children = Mirror(reflecting: values).children
        guard !children.isEmpty else { return nil }
        let last = children[children.index(children.startIndex, offsetBy: children.count - 1)].value
        return Mirror(reflecting: last).children.first?.label
    }
}
