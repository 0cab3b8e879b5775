import Foundation

/// The parameters of a service and of one load, each encoded either in the path or in the query, the body or both.
struct MergedParams {
    private var params: APIParams?
    private let encoder: JSONEncoder
    private let encoding: ParamEncoding
    /// The names that are encoded elsewhere.
    private var excluded: Set<String> = []
    /// The names that are encoded; `nil` for all.
    private var included: Set<String>?

    init(
        common: APIParams?,
        specific: APIParams?,
        encoder: JSONEncoder,
        encoding: ParamEncoding = ParamEncoding()
    ) {
        params = common.map { common in specific.map(common.merging) ?? common } ?? specific
        self.encoder = encoder
        self.encoding = encoding
    }

    /// Whether there are no parameters, not even an empty object.
    var isEmpty: Bool { params == nil }

    /// Returns the parameter `name` for the path; the query and the body then omit it.
    mutating func takeForPath(_ name: String) throws(APIError) -> JSONValue? {
        excluded.insert(name)
        return try params?.tree(with: encoder)[name]
    }

    /// Returns the parameters in the query.
    func inQuery(by placement: ParamPlacement) -> MergedParams {
        var part = self
        part.included = placement.queryNames
        return part
    }

    /// Returns the parameters in the body; none if the query contains all of them.
    func inBody(by placement: ParamPlacement) throws(APIError) -> MergedParams {
        var part = self
        if placement == .query { part.params = nil }
        guard case .split(let names) = placement else { return part }
        part.excluded.formUnion(names)
        // Not an empty object, which would give a body to a GET.
        if try part.tree() == .object([:]) { part.params = nil }
        return part
    }

    /// Returns the parameters as pairs of name and value.
    func pairs() throws(APIError) -> [FormEncoding.Pair] {
        try FormEncoding.pairs(of: tree(), encoding)
    }

    /// Returns the text of the parameters in a query or a form.
    func formText() throws(APIError) -> String {
        FormEncoding.serialize(try pairs(), encoding.spaces)
    }

    /// Returns the JSON text of the parameters.
    func json() throws(APIError) -> Data {
        let isWhole = excluded.isEmpty && included == nil && encoding.nils != .omitted
        if let params, isWhole { return try params.json(with: encoder) }
        return try APIParams(tree()).json(with: encoder)
    }

    /// Returns the parameters as one value.
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
