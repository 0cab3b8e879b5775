/// Reports whether the network is reachable, and notifies of changes.
///
/// All members may be used on any thread or actor. The status is meant for display: the library sends requests whatever the
/// status, unless ``APIRequestOptions/failsWhenUnreachable`` is true. Monitoring starts at the first use, so it costs nothing in
/// an app that does not use it. A load whose host name has no address also counts as a use.
public final class Reachability: Sendable {
    typealias Report = @Sendable (ReachabilityStatus) -> Void
    typealias Stop = @Sendable () -> Void
    /// Reports the current status and every change.
    typealias Watch = @Sendable (_ report: @escaping Report) -> Stop?

    private struct State {
        /// `nil` once it is called.
        var watch: Watch?
        var stop: Stop?
        var status = ReachabilityStatus.unknown
        private var reported = ReachabilityStatus.unknown
        private var isReporting = false
        var observers: [Int: AsyncStream<ReachabilityStatus>.Continuation] = [:]
        var lastObserver = 0

        init(watch: Watch? = nil, status: ReachabilityStatus = .unknown) {
            self.watch = watch
            (self.status, reported) = (status, status)
        }

        /// If another thread is reporting an earlier status, it reports this one, and this returns false.
        mutating func update(to status: ReachabilityStatus) -> Bool {
            self.status = status
            guard !isReporting, status != reported else { return false }
            isReporting = true
            return true
        }

        /// `nil` when all is reported.
        mutating func nextReport() -> (ReachabilityStatus, [AsyncStream<ReachabilityStatus>.Continuation])? {
            isReporting = status != reported
            guard isReporting else { return nil }
            reported = status
            return (status, Array(observers.values))
        }
    }

    /// The reachability of this machine's network, monitored from the first use until the process ends.
    ///
    /// On Linux, the kernel reports changes by netlink; where that is not permitted, the status is
    /// ``ReachabilityStatus/unknown``, and each use tries to start the monitoring again. The kind of the network is in `sysfs`.
    /// On Apple's platforms, both are of the path of the Network framework; on watchOS, which reports none to most apps, the
    /// status is ``ReachabilityStatus/unknown``.
    public static let system = Reachability(watching: NetworkPathMonitor.start)

    private let state: Lock<State>

    /// `watch` is called at the first use, on its thread, and again at the next use if it returns `nil` because it cannot monitor.
    ///
    /// It retains `report`, calls it on one thread at a time, and returns what stops it when this object is released.
    init(watching watch: @escaping Watch) {
        state = Lock(State(watch: watch))
    }

    /// The status changes only with ``report(_:)``.
    package init(status: ReachabilityStatus) {
        state = Lock(State(status: status))
    }

    deinit {
        let (stop, observers) = state.withLock { ($0.stop, $0.observers.values) }
        stop?()
        for observer in observers { observer.finish() }
    }

    /// The current status; `unknown` until the first one is reported.
    public var status: ReachabilityStatus {
        start()
        return state.withLock(\.status)
    }

    /// A new stream of the current status and each change.
    ///
    /// A slow reader receives only the latest status; it receives the same status twice if the status has changed and changed
    /// back. The stream ends when the task that reads it is cancelled, or when this object is released. The stream does not
    /// retain this object.
    public var updates: AsyncStream<ReachabilityStatus> {
        start()
        let (stream, observer) = AsyncStream.makeStream(
            of: ReachabilityStatus.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        let number = state.withLock { state in
            observer.yield(state.status)
            state.lastObserver += 1
            state.observers[state.lastObserver] = observer
            return state.lastObserver
        }
        observer.onTermination = { [weak self] _ in
            self?.state.withLock { $0.observers.removeValue(forKey: number) }
        }
        return stream
    }

    var observerCount: Int { state.withLock { $0.observers.count } }

    /// Returns `false` when the task was cancelled.
    func waitWhileUnreachable() async -> Bool {
        guard status == .unreachable else { return true }
        return await updates.first { $0 != .unreachable } != nil
    }

    package func report(_ status: ReachabilityStatus) {
        let mustReport = state.withLock { $0.update(to: status) }
        guard mustReport else { return }
        // Not under the lock: yielding locks the reader's task, whose cancellation handler waits for the lock.
        while let (status, observers) = state.withLock({ $0.nextReport() }) {
            for observer in observers { observer.yield(status) }
        }
    }

    private func start() {
        guard let watch = state.withLock({ exchange(&$0.watch, with: nil) }) else { return }
        let stop = watch { [weak self] in self?.report($0) }
        state.withLock { state in
            state.stop = stop
            if stop == nil { state.watch = watch }
        }
    }
}

/// Whether the network is reachable, as far as the system knows.
///
/// It is a hint: only a request shows whether a server responds.
public enum ReachabilityStatus: Sendable, Hashable {
    /// Nothing is known: there is only a loopback interface, or the system does not report the status.
    case unknown
    /// There is an interface with an address that other hosts can reach, including those of a VPN or a container's bridge.
    ///
    /// The kind is that of the interface with the default route, which a VPN may leave as it was.
    case reachable(NetworkKind)
    /// There are interfaces other than loopback, but none is connected and has an address.
    case unreachable
}

/// What connects this machine to the network.
public enum NetworkKind: Sendable {
    /// A cable.
    case wired
    /// Wi-Fi.
    case wireless
    /// The network of a mobile operator, which may be expensive.
    case cellular
    /// Another kind, such as a VPN or a container's bridge, or one that the system does not report.
    case other
}
