/// A request whose response is received in elements while it arrives: lines, JSON values, server-sent events.
///
/// A subclass adopts ``APIManager`` with its path and method, and may override ``strategy``. A load begins, is cancelled and ends
/// like any other; it ends when the response does. Its elements are delivered before the ending, in their order, and none after a
/// cancel:
///
/// - ``APIManagerCallbackDelegate/managerCallAPIDidReceiveElements(_:)`` is called for those that are ready together, which are in
///   ``newElements``;
/// - ``APIManager/elements(params:)`` returns them one by one, and receives no more than are read.
///
/// While the app does not take elements, at most 256 KiB of the response are kept and the server has to wait; over HTTP/2, the
/// system's libcurl may keep up to 32 MiB. The request's `timeout` does not run then. A comment or an empty line of the server
/// restarts the timeout.
///
/// Before the response begins, relogin and retries are those of any load, also if the server sends JSON with a failure in the
/// ``Envelope`` in the place of an event stream. Once it has begun, the load is not sent again, because elements would repeat;
/// an event stream connects again, see ``StreamStrategy/reconnects``.
///
/// Adapters of responses and data do not see the body of a stream. A load shares no exchange.
@MainActor open class StreamAPIRequest<Element: Sendable>: BaseAPIRequest {
    /// A stream has no other response than its elements.
    public typealias Response = Void

    private var kept: [Element] = []
    /// The elements that the delegate is notified of.
    public private(set) var newElements: [Element] = []
    // What a load that begins now has instead of the delegate.
    var reader: StreamBuffer<Element>?
    // Of which load the elements are.
    private var elementsLoad: RequestID?

    /// The newest elements of the newest load that has received any, at most ``maxElements``; observable.
    public var elements: [Element] {
        _ = changeCount
        return kept
    }

    // MARK: Hooks

    /// How elements are read; by default, a `Data` is a part, a `String` a line, a ``ServerSentEvent`` an event, and any other
    /// `Decodable` a line of JSON.
    ///
    /// A load of other elements fails with `invalidRequest`. Read twice for each load: before the interceptor is asked, and after.
    open var strategy: StreamStrategy<Element>? { .automatic }
    /// The number of elements that ``elements`` keeps; 1,000 by default.
    open var maxElements: Int { 1_000 }

    /// Decodes nothing, but for JSON in the place of an event stream, whose envelope may contain a failure.
    public var responseSerializer: ResponseSerializer<Void> {
        strategy?.isOfEvents == true ? .eventStream : .constant(())
    }

    override func makeStream(of id: RequestID, _ method: HTTPMethod, for service: APIService) throws(APIError)
        -> (any StreamHandler)?
    {
        guard var strategy else {
            throw APIError(.invalidRequest, reason: "there is no strategy to read \(Element.self)")
        }
        if method != .get { strategy.reconnects = false }
        // Not for a load that a hook of this one has begun.
        if let reader, case .caller = receivers[id] {
            return StreamSession(strategy, for: service, clock: proxy.clock) { await reader.put($0) }
        }
        let scope = LoadScope()
        return StreamSession(strategy, for: service, clock: proxy.clock) { [weak self, proxy] elements in
            await withCheckedContinuation { continuation in
                proxy.deliver {
                    if proxy.loads.contains(id) { scope.run { self?.receive(elements, of: id) } }
                    continuation.resume()
                }
            }
        }
    }

    private func receive(_ elements: [Element], of id: RequestID) {
        newElements = elements
        // An older load may still run.
        if elementsLoad.map({ $0 <= id }) != false {
            if elementsLoad == id { kept += elements } else { kept = elements }
            elementsLoad = id
            if kept.count > maxElements { kept.removeFirst(kept.count - max(0, maxElements)) }
            changeCount += 1
        }
        // An observer may have cancelled it.
        guard proxy.loads.contains(id) else { return }
        delegate?.managerCallAPIDidReceiveElements(self)
    }

    override func didReset() {
        (kept, newElements, elementsLoad) = ([], [], nil)
        changeCount += 1
    }
}
