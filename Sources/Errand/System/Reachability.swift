import Synchronization

/// Tells whether there is a way to the network, and when that changes.
///
/// Everything here may be called from any thread or actor. It is information for a screen, and no gate: the library sends
/// requests whatever the status is. Nothing is watched before the first use, so an app that never asks pays nothing; a load
/// whose host has no address asks as well.
public final class Reachability: Sendable {
    /// Takes a new status.
    public typealias Report = @Sendable (ReachabilityStatus) -> Void
    /// Ends the watching.
    public typealias Stop = @Sendable () -> Void
    /// Begins to watch, and tells every status from then on, the current one included.
    public typealias Watch = @Sendable (_ report: @escaping Report) -> Stop?

    private enum Source: Sendable {
        case idle(Watch)
        case starting
        case watched(Stop)
    }

    private struct State {
        var source: Source
        var status = ReachabilityStatus.unknown
        private var told = ReachabilityStatus.unknown
        private var isTelling = false
        var observers: [Int: AsyncStream<ReachabilityStatus>.Continuation] = [:]
        var lastObserver = 0

        init(source: Source, status: ReachabilityStatus = .unknown) {
            self.source = source
            (self.status, told) = (status, status)
        }

        /// Whether the caller has to tell; where another is at it, that one tells this as well, in its order.
        mutating func take(_ status: ReachabilityStatus) -> Bool {
            self.status = status
            guard !isTelling, status != told else { return false }
            isTelling = true
            return true
        }

        /// What the teller says next; `nil` when all is said.
        mutating func nextNews() -> (ReachabilityStatus, [AsyncStream<ReachabilityStatus>.Continuation])? {
            isTelling = status != told
            guard isTelling else { return nil }
            told = status
            return (status, Array(observers.values))
        }

        /// What begins to watch, for the caller to call; `nil` when another does, or has.
        mutating func beginStarting() -> Watch? {
            guard case .idle(let watch) = source else { return nil }
            source = .starting
            return watch
        }
    }

    /// The network of this machine, watched for the whole process from its first use on.
    ///
    /// On Linux the kernel tells of changes by netlink; where it may not, the status is ``ReachabilityStatus/unknown``, and
    /// each use tries again. On Apple's platforms it is the path of the Network framework.
    public static let system = Reachability(watching: SystemPath.watch)

    private let state: Mutex<State>

    /// Creates one that hears of the network from somewhere else, such as a VPN of the app.
    ///
    /// - Parameter watch: Called at the first use, on the thread of that use. It keeps what it is given, reports from one
    ///   thread at a time, and returns what ends it, which is called when this object goes. When it cannot watch it returns
    ///   `nil`, and is called again at the next use.
    public init(watching watch: @escaping Watch) {
        state = Mutex(State(source: .idle(watch)))
    }

    /// Creates one whose status changes with ``report(_:)`` only.
    package init(status: ReachabilityStatus) {
        state = Mutex(State(source: .watched {}, status: status))
    }

    deinit {
        let (source, observers) = state.take { ($0.source, $0.observers.values) }
        if case .watched(let stop) = source { stop() }
        for observer in observers { observer.finish() }
    }

    /// The status now; `unknown` until the first one has come.
    public var status: ReachabilityStatus {
        start()
        return state.withLock(\.status)
    }

    /// The status now, and then each change; a stream of its own at each call.
    ///
    /// A reader that is slow gets the newest status only, and the same one twice when it went and came back. The stream
    /// ends when the task that reads it is cancelled or when this object goes, which the stream does not keep.
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
        observer.onTermination = { [weak self] _ in self?.forget(number) }
        return stream
    }

    /// How many streams of ``updates`` are being read.
    var observerCount: Int { state.withLock { $0.observers.count } }

    /// Waits as long as the network is known to be unreachable, and does not wait at all otherwise.
    ///
    /// - Returns: Whether it is no longer; `false` when the task was cancelled before.
    func waitWhileUnreachable() async -> Bool {
        guard status == .unreachable else { return true }
        return await updates.first { $0 != .unreachable } != nil
    }

    /// Takes a new status; one that is none changes nothing.
    package func report(_ status: ReachabilityStatus) {
        let mustTell = state.withLock { $0.take(status) }
        guard mustTell else { return }
        // Never under the lock: yielding takes the reader's task, which, when it is being cancelled, waits for the lock.
        while let (news, observers) = state.take({ $0.nextNews() }) {
            for observer in observers { observer.yield(news) }
        }
    }

    private func start() {
        guard let watch = state.take({ $0.beginStarting() }) else { return }
        let stop = watch { [weak self] in self?.report($0) }
        state.take { exchange(&$0.source, with: stop.map(Source.watched) ?? .idle(watch)) }
    }

    private func forget(_ observer: Int) {
        state.take { $0.observers.removeValue(forKey: observer) }
    }
}
