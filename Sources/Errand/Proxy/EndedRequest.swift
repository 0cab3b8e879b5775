/// One load that has ended, as ``APIProxy/endings`` reports it to code that is not its delegate.
public struct EndedRequest: Sendable, Identifiable {
    /// The load's ID.
    public let id: RequestID
    /// The class of the request; `nil` for a plain call.
    public let requestClass: AnyClass?
    /// The request method.
    public let method: HTTPMethod
    /// The path with `{name}` for its parameters; for a plain call the URL without user, password, query and fragment.
    public let path: String
    /// How the load ended.
    ///
    /// The ``APIError/response`` of a failure has status and headers, but neither body nor file.
    public let ending: APIEnding
    /// The number of endings directly before this one that were dropped because the reader was too slow; usually 0.
    public internal(set) var droppedCount = 0

    init(id: RequestID, requestClass: AnyClass?, method: HTTPMethod, path: String, ending: APIEnding) {
        self.id = id
        self.requestClass = requestClass
        self.method = method
        self.path = URLRedaction.path(path)
        self.ending = ending.withoutBody
    }
}

extension APIEnding {
    /// This ending without the body of an answer, which may be large.
    fileprivate var withoutBody: APIEnding {
        guard case .failure(let error) = self, let response = error.response else { return self }
        return .failure(error.withResponse(response.withContent()))
    }
}
