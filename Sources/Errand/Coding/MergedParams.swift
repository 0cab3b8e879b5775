import Foundation

/// The parameters of a service and of one load, each encoded either in the path or in the query, the body or both.
struct MergedParams {
    private(set) var params: APIParams?
    let encoder: JSONEncoder
    let encoding: ParamEncoding
    /// Whether numbers are written as an adapter of the parameters has read them, which may have signed them.
    let isAdapted: Bool
    private(set) var excluded: Set<String> = []
    /// `nil` for all names.
    private(set) var included: Set<String>?

    /// Whether there are no parameters, not even an empty object.
    var isEmpty: Bool { params == nil }

    /// The query and the body then omit the parameter.
    mutating func takeForPath(_ name: String) throws(APIError) -> JSONValue? {
        excluded.insert(name)
        return try params?.tree(with: encoder)[name]
    }

    func inQuery(by placement: ParamPlacement) -> MergedParams {
        var part = self
        part.included = placement.queryNames
        return part
    }

    /// None if the query contains all parameters.
    func inBody(by placement: ParamPlacement) throws(APIError) -> MergedParams {
        var part = self
        if placement == .query { part.params = nil }
        guard case .split(let names) = placement else { return part }
        part.excluded.formUnion(names)
        // Not an empty object, which would give a body to a GET.
        if try part.tree() == .object([:]) { part.params = nil }
        return part
    }

    func pairs() throws(APIError) -> [FormEncoding.Pair] {
        try FormEncoding.pairs(of: tree(), encoding)
    }

    func formText() throws(APIError) -> String {
        FormEncoding.serialize(try pairs(), encoding.spaces)
    }

    func json() throws(APIError) -> Data {
        let isWhole = !isAdapted && excluded.isEmpty && included == nil && encoding.nils != .omitted
        if let params, isWhole { return try params.json(with: encoder) }
        return try APIParams(encoding: tree()).json(with: encoder)
    }

    func tree() throws(APIError) -> JSONValue {
        guard let params else { return .object([:]) }
        let tree = encoding.apply(to: try params.tree(with: encoder))
        guard !excluded.isEmpty || included != nil else { return tree }
        guard case .object(let members) = tree else {
            let reason = "parameters without names cannot be divided between the path, the query and the body"
            throw APIError(.invalidRequest, reason: reason)
        }
        return .object(members.filter { !excluded.contains($0.key) && included?.contains($0.key) != false })
    }
}
