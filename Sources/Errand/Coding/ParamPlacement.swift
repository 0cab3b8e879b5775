/// Where the parameters of a load are encoded; see ``RequestSerializer/placing(_:)``.
///
/// A parameter that replaces a `{name}` in the path is sent in neither the query nor the body.
public enum ParamPlacement: Sendable, Hashable {
    /// In the query of `GET`, `HEAD` and `DELETE` and beside a raw body, otherwise in the body; the default.
    case automatic
    /// In the query. The body is raw, consists of the parts of an upload, or there is none.
    case query
    /// In the body, for example of a `DELETE`.
    ///
    /// A body of a `GET` has no defined meaning (RFC 9110 section 9.3.1), and URLSession refuses it. A load whose method is
    /// `HEAD` or whose body is raw fails with `invalidRequest`.
    case body
    /// The parameters with these names in the query, and the others in the body. Without other parameters, there is no body.
    case split(query: Set<String>)
    /// All parameters in the query, and again in the body.
    case queryAndBody
}

extension ParamPlacement {
    /// `nil` for all names.
    var queryNames: Set<String>? {
        switch self {
        case .automatic, .query, .queryAndBody: nil
        case .body: []
        case .split(let names): names
        }
    }
}
