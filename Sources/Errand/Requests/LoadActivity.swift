/// The current activity of a load, to show on a screen; see ``BaseAPIRequest/activity``.
public enum LoadActivity: Sendable, Equatable {
    /// It waits in the queue of the proxy.
    case queued
    /// The request is being created and sent; no response has begun.
    case sending
    /// The response is being received; not reported with a custom transport.
    case receiving
    /// The load waits before it is sent or sent again; `limit` is the longest wait, if known.
    case waiting(APIEvent.Reason, limit: Duration?)
}

extension LoadActivity {
    init?(_ kind: APIEvent.Kind) {
        switch kind {
        case .queued: self = .queued
        case .waiting(let reason, let limit): self = .waiting(reason, limit: limit)
        // Not where it is sent again: it may wait in the queue, for what it says now, until its request is made.
        case .started, .joined, .requestMade: self = .sending
        case .headReceived: self = .receiving
        default: return nil
        }
    }
}

/// Delivers the activity of one load to its request; it retains neither that nor the proxy.
struct ActivityMonitor: APIMonitor {
    private let deliver: @Sendable (LoadActivity) -> Void

    init(of id: RequestID, for request: BaseAPIRequest) {
        let scope = LoadScope()
        deliver = { [weak request, weak proxy = request.proxy] activity in
            proxy?.deliver { [weak request, weak proxy] in
                guard let request, proxy?.loads.contains(id) == true else { return }
                scope.run { request.load(id, isNow: activity) }
            }
        }
    }

    func observe(_ event: APIEvent) {
        if let activity = LoadActivity(event.kind) { deliver(activity) }
    }
}

extension BaseAPIRequest {
    fileprivate func load(_ id: RequestID, isNow activity: LoadActivity) {
        if loads.last == id {
            guard self.activity != activity else { return }
            self.activity = activity
            // Those who observe it may have cancelled the load.
            guard proxy.loads.contains(id) else {
                if loads.isEmpty { self.activity = nil }
                return
            }
        }
        delegate?.managerCallAPI(self, isNow: activity)
    }
}
