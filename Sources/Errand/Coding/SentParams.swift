import Foundation

/// The parameters of one send as they are encoded, for adapters that sign them.
package final class SentParams: Sendable {
    /// One name and its text, neither of them escaped.
    package struct Field: Sendable, Equatable {
        package let name: String
        package let value: String
        package let isNull: Bool
        /// The name of the parameter, of which `name` may be a member: `filter` of `filter[color]`.
        package let parameter: String

        package init(_ name: String, _ value: String, isNull: Bool = false, of parameter: String? = nil) {
            (self.name, self.value, self.isNull, self.parameter) = (name, value, isNull, parameter ?? name)
        }
    }

    private let draft: RequestDraft
    private let encoder: JSONEncoder
    private let encoding: ParamEncoding
    private let placement: ParamPlacement

    init(_ draft: RequestDraft, for service: APIService) {
        self.draft = draft
        encoder = service.encoder
        encoding = draft.serializer.ownEncoding ?? service.paramEncoding
        placement = draft.serializer.placement(for: draft.method)
    }

    package var params: APIParams? { draft.params }
    package var pathNames: Set<String> { PathTemplate(draft.path).names }

    /// Whether the query is that of a URL of the server or of the app, without parameters of the load.
    package var hasNoQueryParams: Bool {
        switch draft.replacement {
        case .request: true
        case .link: placement != .body
        case nil: false
        }
    }

    /// Returns names and texts of parameters, without those in the path.
    ///
    /// In a query, a form and a multipart body: one for each pair, as ``ParamEncoding`` writes it; none for `null`, unless that is
    /// written as an empty text. In other bodies: one for each member of the object, a string without quotes and escapes,
    /// everything else as its JSON text.
    package func fields(of params: APIParams?) throws(APIError) -> [Field] {
        guard let params else { return [] }
        let names = pathNames
        let queryNames = placement.queryNames
        let isForm =
            switch draft.serializer.format {
            case .form, .multipart, .raw: true
            case .json, .custom: false
            }
        guard case .object(let members) = encoding.apply(to: try params.tree(with: encoder)) else {
            throw APIError(.invalidRequest, reason: "parameters without names cannot be signed")
        }
        var fields: [Field] = []
        for (name, value) in members.sorted(by: { $0.key < $1.key }) where !names.contains(name) {
            if isForm || queryNames?.contains(name) != false {
                fields += try FormEncoding.pairs(of: .object([name: value]), encoding).map {
                    Field($0.name, $0.value, of: name)
                }
            } else {
                fields.append(Field(name, try text(of: value, name: name), isNull: value == .null))
            }
        }
        return fields
    }

    private func text(of value: JSONValue, name: String) throws(APIError) -> String {
        switch value {
        case .string(let text): return text
        case .array, .object:
            // Otherwise the text depends on the place at which the value is nested, or is another one at each encoding.
            let formatting = encoder.outputFormatting
            guard formatting.contains(.sortedKeys), !formatting.contains(.prettyPrinted) else {
                let parameter = Redactor.shared.name(name)
                let reason =
                    "the encoder must have .sortedKeys and not .prettyPrinted to sign the parameter \(parameter)"
                throw APIError(.invalidRequest, reason: reason)
            }
        case .null, .bool, .int, .double, .decimal: break
        }
        do {
            return String(decoding: try encoder.encode(value), as: UTF8.self)
        } catch {
            let reason = "the parameter \(Redactor.shared.name(name)) cannot be encoded"
            throw APIError(.invalidRequest, reason: reason, underlying: error)
        }
    }
}

extension SentParams: CustomReflectable {
    /// Nothing, because `dump` prints paths, links and parameters otherwise.
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
