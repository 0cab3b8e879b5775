import Foundation

/// How parameters are encoded as a body, with any method but `GET`, `HEAD` and `DELETE`, which encode them in the query.
///
/// Without parameters (`nil`) and without parts there is no body, and no `Content-Type` for it.
public enum RequestSerializer: Sendable {
    /// A JSON object, `application/json`; the default.
    case json
    /// `application/x-www-form-urlencoded`, by the WHATWG serializer.
    case form
    /// `multipart/form-data`: a field for each parameter, then the parts that the request and its param source append.
    case multipart
    /// This body, unchanged; parameters are encoded in the query.
    case raw(HTTPBody, contentType: String)
}

extension RequestSerializer {
    /// Returns whether parameters are encoded in the query.
    func encodesParamsInQuery(for method: HTTPMethod) -> Bool {
        if case .raw = self { true } else { method.encodesParamsInQuery }
    }

    /// Returns the body of a request, and its media type if there is a body.
    func body(
        of params: MergedParams,
        form: MultipartForm?,
        method: HTTPMethod
    ) throws(APIError) -> (HTTPBody, contentType: String?) {
        switch self {
        case .raw(let body, let contentType):
            return (body, contentType)
        case _ where method.encodesParamsInQuery || params.isEmpty && form?.parts.isEmpty != false:
            return (.empty, nil)
        case .json:
            return (.data(try params.json()), "application/json")
        case .form:
            let text = FormEncoding.serialize(try params.pairs())
            return (.data(Data(text.utf8)), "application/x-www-form-urlencoded")
        case .multipart:
            let form = form ?? MultipartForm()
            return (try form.body(fields: params.pairs()), "multipart/form-data; boundary=\(form.boundary)")
        }
    }
}
