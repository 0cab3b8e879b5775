public import Errand
public import Observation

/// Whether the loads of a proxy or a service use the network, for an indicator of the whole app.
///
/// Add it to `APIProxy.monitors` or `APIService.monitors`. A response from the cache is no activity, nor is the time that a load
/// waits before it is sent or sent again. A load that joins a running exchange of another is counted from the next request of that
/// exchange on, such as after a redirect.
///
/// ```swift
/// let activity = NetworkActivity()
/// APIProxy.shared.monitors.append(activity)
/// ```
@MainActor @Observable public final class NetworkActivity: APIMonitor {
    /// The number of loads that use the network.
    public private(set) var count = 0
    /// Whether to show an indicator.
    public private(set) var isVisible = false
    /// How long there is activity before ``isVisible`` becomes true; 1 second by default.
    public var activationDelay = Duration.seconds(1)
    /// How long there is no activity before ``isVisible`` becomes false; 0.17 seconds by default.
    public var completionDelay = Duration.milliseconds(170)
    private let clock: any APIClock
    // Changed in the order of the events, which that of the tasks that they start need not be.
    private let loads = Lock(Set<RequestID>())
    /// Ends when ``isVisible`` changes.
    @ObservationIgnored private var wait: Task<Void, Never>?

    /// Creates a monitor.
    ///
    /// - Parameter clock: Measures the delays; the clock of the machine by default.
    public init(clock: any APIClock = SystemClock()) { self.clock = clock }

    /// Requests and their outcomes.
    nonisolated public var observedLevel: APIEvent.Level { .exchanges }

    /// Counts the load of the event; ``count`` follows on the main actor.
    nonisolated public func observe(_ event: APIEvent) {
        let hasChanged = loads.withLock { loads in
            switch event.kind {
            case .requestMade: loads.insert(event.id).inserted
            // Not a redirect, which another request follows.
            case .responded, .failed, .ended: loads.remove(event.id) != nil
            default: false
            }
        }
        if hasChanged { Task { @MainActor in update() } }
    }

    private func update() {
        count = loads.withLock(\.count)
        if (count > 0) == isVisible {
            wait?.cancel()
            wait = nil
        } else if wait == nil {
            wait = Task { [weak self, clock, delay = isVisible ? completionDelay : activationDelay] in
                try? await clock.sleep(for: delay)
                guard !Task.isCancelled, let self else { return }
                (wait, isVisible) = (nil, !isVisible)
            }
        }
    }
}
