/// One load that has ended, as ``APIProxy/endings`` reports it to code that is not its delegate.
public struct EndedRequest: Sendable, Identifiable {
    /// The load's ID.
    public let id: RequestID
    /// The class of the request; `nil` for a plain call, and for a load that validates a stored response in the
    /// background.
    public let requestClass: AnyClass?
    /// The request method.
    public let method: HTTPMethod
    /// The path with `{name}` for its parameters; for a plain call the URL without user, password, query and fragment.
    public let path: String
    /// The response with status, headers and timings, but without body and file; `nil` if none was received.
    public let response: APIResponse?
    /// How the load ended; the ``APIError/response`` of a failure is ``response``.
    public let ending: APIEnding
    /// The number of endings that were dropped directly before this one because the reader was too slow; usually 0.
    public internal(set) var droppedCount = 0

    init(
        _ id: RequestID,
        of requestClass: AnyClass?,
        _ method: HTTPMethod,
        path: String,
        _ response: APIResponse?,
        _ ending: APIEnding
    ) {
        (self.id, self.requestClass, self.method, self.path) = (id, requestClass, method, URLRedaction.path(path))
        self.response = response?.withContent()
        // A body may be large.
        self.ending =
            if case .failure(let error) = ending, let response = error.response {
                .failure(error.withResponse(response.withContent()))
            } else {
                ending
            }
    }
}
