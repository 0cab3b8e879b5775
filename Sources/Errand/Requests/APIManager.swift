/// What a ``BaseAPIRequest`` subclass adopts to become loadable: path, method and the type of the answer.
@MainActor public protocol APIManager: BaseAPIRequest {
    /// What an answer is decoded to: any `Decodable`, `String`, `Data`, ``JSONValue``, ``DownloadedFile``, or `Void`.
    ///
    /// Answers are decoded off the main actor. In a module with the default isolation `MainActor`, as that of a new app
    /// project, declare the types of an answer `nonisolated struct`.
    associatedtype Response: Sendable

    /// The path below the service's base URL; `{name}` in it is replaced by a parameter, encoded as one segment.
    var path: String { get }

    /// The request method.
    var method: HTTPMethod { get }

    /// Makes a ``Response`` of an answer; ``ResponseSerializer/automatic`` by default.
    var responseSerializer: ResponseSerializer<Response> { get }

    /// A chance to change a decoded answer; returns it as it is by default.
    ///
    /// Called once for each accepted answer, on the main actor, before anybody sees it.
    func reformData(_ response: Response) -> Response
}

extension APIManager {
    /// Returns the answer as it is.
    public func reformData(_ response: Response) -> Response { response }

    /// The newest decoded answer; a failed load leaves it as it was.
    public var response: Response? { content as? Response }

    /// Begins a load.
    ///
    /// Asks the param source, the hooks, the interceptor and the validator, then returns; whatever they say, the load ends
    /// later, in exactly one delegate method.
    ///
    /// - Returns: The load's ID, for ``APIProxy/cancelRequest(_:)``.
    @discardableResult
    public func loadData() -> RequestID {
        begin()
    }

    /// Begins a load, as ``loadData()`` does, and shows an indicator until it has ended.
    ///
    /// - Parameters:
    ///   - indicator: Shown now and hidden at the ending, whichever that is; retained until then. Where
    ///     ``BaseAPIRequest/restartPolicy`` is `.ignoreNew` and a load runs, that one's indicator stays, and this one is not
    ///     shown.
    ///   - message: What the indicator says.
    /// - Returns: The load's ID.
    @discardableResult
    public func loadData(indicator: any LoadingIndicator, message: String? = nil) -> RequestID {
        begin(indicator: indicator, message: message)
    }

    /// Loads and returns the answer.
    ///
    /// The load is like any other, but the caller receives its ending instead of the delegate. Cancelling the task cancels
    /// the load. Where ``BaseAPIRequest/restartPolicy`` is `.ignoreNew` and a load runs, the caller waits for that one.
    ///
    /// - Throws: Why the load failed; `cancelled` when it was cancelled.
    public func value() async throws(APIError) -> Response {
        try await value { _ in }
    }

    /// Loads and returns the answer; calls `whenBegun` with the ID of the load.
    func value(whenBegun: (RequestID) -> Void) async throws(APIError) -> Response {
        guard !Task.isCancelled else { throw APIError(.cancelled) }
        let id = begin(notifiesDelegate: false)
        whenBegun(id)
        let content = try await ending(of: id).get()
        // Only where the caller has joined the load of a list's next page.
        if let end = content as? EndOfList { throw end.error }
        guard let response = content as? Response else {
            preconditionFailure("A load of \(Self.self) ended with another type than \(Response.self)")
        }
        return response
    }
}

extension APIManager {
    /// Unavailable, with the message of the compiler for a ``Response`` without a serializer.
    ///
    /// The compiler chooses this default where no other one fits: for a type that is not `Decodable`, and for one whose
    /// conformance is isolated to the main actor, as in a module with that default isolation (SE-0466, SE-0470).
    @available(
        *,
        unavailable,
        message: "Response must be Decodable off the main actor: declare a 'nonisolated struct' or a responseSerializer"
    )
    public var responseSerializer: ResponseSerializer<Response> { .automatic }
}

extension APIManager where Response: Decodable {
    /// What the type asks for: text, data, or JSON in the service's envelope.
    public var responseSerializer: ResponseSerializer<Response> { .automatic }
}

extension APIManager where Response == DownloadedFile {
    /// The file.
    public var responseSerializer: ResponseSerializer<DownloadedFile> { .file }
}

extension APIManager where Response == Void {
    /// Nothing.
    public var responseSerializer: ResponseSerializer<Void> { .nothing }
}
