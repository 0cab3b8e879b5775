/// How the parameters of a `POST`, `PUT` or `PATCH` become its body.
public enum RequestSerializer: Sendable {
    /// One JSON object, `application/json`; the default.
    case json
    /// `application/x-www-form-urlencoded`, by the WHATWG serializer.
    case form
    /// `multipart/form-data`: a field for each parameter, then the parts that the param source appends.
    case multipart
    /// This body as it is; parameters go to the query.
    case raw(HTTPBody, contentType: String)
}
