public import Errand
import Foundation

/// Records exchanges, and writes them as an HTTP archive (HAR 1.2) or as a report, one HTML page.
///
/// Add it to the monitors of a proxy or a service:
///
/// ```swift
/// let recorder = HARRecorder()
/// proxy.monitors.append(recorder)
/// …
/// try recorder.write(to: folder.appending(path: "session.har"))
/// try recorder.writeReport(to: folder.appending(path: "session.html"))
/// ```
///
/// Each exchange is one entry: a redirect, a retry and an attempt after a relogin have separate entries, and loads that share an
/// exchange have one common entry. A failed or cancelled exchange is recorded as far as it progressed; for an incomplete
/// response, the entry contains status, headers and the number of received bytes.
///
/// A load that ended before anything was sent, because it was refused, failed or was cancelled in the queue, is one entry with
/// the reason, status 0 and its path. The entry counts towards the limits like an exchange.
///
/// The `headers` of a request are those of the load. Its `headersSize` is the size of the whole head as sent, including lines
/// that the transport added, such as `Host`; a `comment` in the entry states this.
///
/// Exports contain only values that `Redactor.shared` knows to be harmless. Other values are removed during the export, not
/// during recording, so that recording costs a load almost nothing; until then, they are in the memory of the process.
public final class HARRecorder: APIMonitor {
    /// How much is kept; the oldest exchanges are removed for new ones.
    public struct Limits: Sendable, Hashable {
        /// The number of exchanges; 1,000 by default.
        ///
        /// With 0, or a negative number, nothing is recorded.
        public var exchanges = 1_000
        /// The bytes of all headers and bodies together; 32 MiB by default.
        public var bytes = 32 << 20
        /// The bytes of one body; 256 KiB by default.
        ///
        /// The rest of a longer one is removed, and its entry is marked.
        public var bodyBytes = 256 << 10

        /// Creates the default limits.
        public init() {}
    }

    let includesSecrets: Bool
    let clock = WallClock()
    private let limits: Limits
    private let log: Lock<ExchangeLog>

    /// Creates a recorder without exchanges.
    ///
    /// - Parameters:
    ///   - includesSecrets: Whether passwords, tokens, cookies and all other values are exported; `false` by default. Use `true`
    ///     only on a developer's own machine, never for an app's users.
    ///   - limits: How much is kept; 1,000 exchanges and 32 MiB by default.
    public init(includesSecrets: Bool = false, limits: Limits = Limits()) {
        self.includesSecrets = includesSecrets
        self.limits = limits
        log = Lock(ExchangeLog(limits))
    }

    /// Records the event; called by the proxy, on any thread.
    public func observe(_ event: APIEvent) {
        // Bodies are cut before the lock, and what is removed is released after it.
        guard let change = RecordedEvent(event.kind, bodyLimit: max(limits.bodyBytes, 0)) else { return }
        log.withLock { $0.record(change, of: event) }
    }

    /// The number of entries that an export would contain: exchanges, and loads that were not sent.
    public var count: Int { log.withLock { $0.count } }

    /// Removes all exchanges; those that are in flight are not recorded.
    public func clear() {
        log.withLock { $0.clear() }
    }

    /// The exchanges in the order of their beginnings, and the number of those that were removed for them.
    var snapshot: (exchanges: [RecordedExchange], removed: Int) {
        let (recorded, removed) = log.withLock { ($0.exchanges, $0.removedCount) }
        let exchanges = recorded.map { (clock.start(of: $0), $0) }
        return (exchanges.sorted { ($0.0, $0.1.sequence) < ($1.0, $1.1.sequence) }.map(\.1), removed)
    }
}

extension HARRecorder: RedactedDescription {
    /// The number of exchanges.
    public var description: String { "\(count) exchanges" }
}
