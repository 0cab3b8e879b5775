/// How parameters become a body, where they do not go to the query: with any method but `GET`, `HEAD` and `DELETE`.
///
/// Without parameters (`nil`) and without parts there is no body, and no `Content-Type` for it.
public enum RequestSerializer: Sendable {
    /// One JSON object, `application/json`; the default.
    case json
    /// `application/x-www-form-urlencoded`, by the WHATWG serializer.
    case form
    /// `multipart/form-data`: a field for each parameter, then the parts that the request and its param source append.
    case multipart
    /// This body as it is; parameters go to the query.
    case raw(HTTPBody, contentType: String)
}
