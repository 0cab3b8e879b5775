import Foundation

/// A stored response, its body, and the names of its files in the folder of its session.
struct CacheEntry: Sendable {
    var stored: StoredResponse
    let body: CacheBody
    /// With the folder of variants, if it varies.
    let name: String
    let key: CacheKey
}

extension CacheEntry {
    /// Returns the response to a request, and its body if that becomes a file; `nil` for a body that is damaged.
    ///
    /// The response is the whole, the part that is requested, or a 304; for the rules of an app, the one that was received.
    func response(to request: HTTPRequest, isRule: Bool, age: Duration) -> (HTTPResponse, body: CacheBody?)? {
        var response = HTTPResponse(status: stored.status, headers: stored.headers)
        if !isRule {
            response.headers["Age"] = String(age.components.seconds)
            guard !stored.isNotModified(for: request) else {
                response.status = 304
                return (response, nil)
            }
        }
        guard request.method != .head else { return (response, nil) }
        let part = isRule ? nil : request.headers["Range"].flatMap(stored.part)
        if body.fileName != nil, request.destination != .memory, stored.isSuccess, part == nil {
            return (response, body)
        }
        guard let body = body.data() else { return nil }
        response.body = body
        if let part, let stored = stored.storedRange {
            let (start, count) = (Int(part.first - stored.first), Int(part.last - part.first + 1))
            response.body = Data(body.dropFirst(start).prefix(count))
            response.status = 206
            response.headers["Content-Range"] = part.contentRange
            response.headers["Content-Length"] = String(response.body.count)
        }
        return (response, nil)
    }
}
