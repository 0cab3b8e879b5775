public import Errand
public import Foundation

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
/// response of a transport of this library, the entry contains status and headers and, if it failed, the number of received bytes.
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
        /// The bytes of all URLs, headers, bodies and errors together; 32 MiB by default.
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
    public func removeAll() {
        log.withLock { $0.removeAll() }
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

extension HARRecorder {
    /// Returns the archive, HAR 1.2 in UTF-8.
    ///
    /// Loads continue during the export. Fields of this library begin with `_`: `_load` and `_loads` contain the IDs of the loads,
    /// `_attempt` the number of the attempt, `_cause` what the load waited for before the attempt, `_state` the state of the
    /// exchange, or `unsent` for a load without one, `_error` the reason why there is no response, `_truncated` whether a body was
    /// shortened, and `_fromCache` and `_cacheAge` whether the response was a stored one, and how old.
    public func data() -> Data {
        let (exchanges, removed) = snapshot
        let printer = Printer(includesSecrets: includesSecrets)
        let comments = [
            printer.isRedacting ? "Values that are not known to be harmless are redacted." : "Secrets are included.",
            removed > 0 ? "\(removed) older exchanges were removed because of the limits of the recorder." : nil,
        ]
        var text = Array(
            #"{"log":{"version":"1.2","creator":{"name":"Errand","version":"1"},"pages":[],"comment":"#.utf8
        )
        HARValue.string(comments.compactMap { $0 }.joined(separator: " ")).write(to: &text)
        text += #","entries":["#.utf8
        // One line for each entry, in the order of their beginnings.
        for (index, exchange) in exchanges.enumerated() {
            text += index > 0 ? ",\n".utf8 : "\n".utf8
            HARValue(PrintedExchange(exchange, printer, clock), printer).write(to: &text)
        }
        text += "\n]}}\n".utf8
        return Data(text)
    }

    /// Writes the archive to a file, which only its owner may read.
    ///
    /// An existing file is replaced when the new one is complete and on the disk; after an error, it is unchanged, unless
    /// only the disk could not be synchronized.
    ///
    /// - Throws: ``WriteError``.
    public func write(to file: URL) throws(WriteError) { try Self.write(data(), to: file) }

    /// Returns the report: one HTML page, which needs no other file and no network.
    ///
    /// It shows each exchange in a waterfall with its phases, headers and bodies, and has filters. A browser opens it from a
    /// file; its contents are never executed.
    public func report() -> Data { ReportPage(self).data }

    /// Writes the report to a file, which only its owner may read.
    ///
    /// An existing file is replaced when the new one is complete and on the disk; after an error, it is unchanged, unless
    /// only the disk could not be synchronized.
    ///
    /// - Throws: ``WriteError``.
    public func writeReport(to file: URL) throws(WriteError) { try Self.write(report(), to: file) }

    private static func write(_ data: Data, to file: URL) throws(WriteError) {
        guard file.isFileURL else { throw WriteError(file, kind: .notAFile, reason: "its URL is not that of a file") }
        let folder = file.deletingLastPathComponent()
        let temporary = folder.appending(path: ".\(String.uniqueName).part").path(percentEncoded: false)
        do throws(SystemError) {
            try AtomicFile.replace(
                file.path(percentEncoded: false),
                with: Array(data),
                temporary: temporary,
                folder: folder.path(percentEncoded: false)
            )
        } catch {
            throw WriteError(file, error)
        }
    }
}

extension HARRecorder {
    /// The reason why an archive or a report could not be written.
    ///
    /// An existing file at its path is unchanged, unless the new one has its place and only the disk could not be synchronized.
    public struct WriteError: Error, Sendable {
        /// The kinds of failure.
        public enum Kind: Sendable, Hashable {
            /// The URL is not that of a file.
            case notAFile
            /// The folder does not exist; create it first.
            case missingFolder
            /// The process may not write the folder.
            case notPermitted
            /// The disk is full, or a quota or a limit of the size of files is used up.
            case diskFull
            /// The system has reported another failure.
            case other
        }

        /// The kind of failure.
        public let kind: Kind
        /// The file.
        public let file: URL
        /// What the system has reported.
        public let reason: String

        init(_ file: URL, kind: Kind, reason: String) {
            (self.file, self.kind, self.reason) = (file, kind, reason)
        }

        init(_ file: URL, _ error: SystemError) {
            let kind: Kind =
                switch error.number {
                case ENOENT, ENOTDIR: .missingFolder
                case EACCES, EPERM, EROFS: .notPermitted
                case ENOSPC, EDQUOT, EFBIG: .diskFull
                default: .other
                }
            self.init(file, kind: kind, reason: error.reason)
        }
    }
}

extension HARRecorder.WriteError: CustomStringConvertible, LocalizedError {
    /// The path, the reason, and what can be done.
    public var description: String {
        let advice: String? =
            switch kind {
            case .notAFile: "use URL(filePath:)"
            case .missingFolder: "create its folder first"
            case .notPermitted: "choose a folder that this user may write"
            case .diskFull: "free some space, or lower HARRecorder.Limits"
            case .other: nil
            }
        return "\(file.path(percentEncoded: false)) cannot be written (\(reason))" + (advice.map { "; \($0)" } ?? "")
    }

    /// The same text.
    public var errorDescription: String? { description }
}

/// Converts the uptimes of events to dates, by the wall clock at one moment.
struct WallClock: Sendable {
    private let date = Date()
    private let uptime = SystemClock.uptime

    func date(at uptime: Duration) -> Date {
        date + (uptime - self.uptime).seconds
    }

    /// When an exchange has begun, with its time in the queue.
    func start(of exchange: RecordedExchange) -> Date {
        (exchange.timings?.startedAt ?? date(at: exchange.madeAt)) - (exchange.queue ?? .zero).seconds
    }
}

extension Duration {
    var seconds: Double { self / .seconds(1) }

    var microseconds: Int64 { Int64((self / .microseconds(1)).rounded()) }
}
