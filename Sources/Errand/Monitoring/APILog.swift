import Foundation
import Synchronization

/// Writes what loads do as lines of text.
///
/// ```swift
/// let proxy = APIProxy()
/// proxy.monitors = [APILog()]
/// ```
///
/// One line for each ending, by default: method, path, status, business code, duration, bytes and tries of a success, and the
/// type of the error and its reason for a failure.
///
/// ```
/// GET /goods/{id} 200 · 12.3 ms · 2.1 KB · 1 try
/// POST /orders 200 failed: server, code 5001 · 30.1 ms · 54 B · 1 try
/// GET /goods/{id} failed: timeout, no answer for 60 s · 60.0 s · 2 tries
/// ```
///
/// No line contains a query, a header or a body unless the log is ``init(_:showing:redactor:write:)`` created to show them, and then
/// with the values that the redactor considers harmless. Control characters in what servers and apps provide are escaped, so
/// that they cannot forge a line or control a terminal.
///
/// A log on level ``Level/endings`` costs a few microseconds for each load.
public final class APILog: APIMonitor {
    /// How much is logged.
    public enum Level: Int, Sendable, Comparable {
        /// The ending of each load.
        case endings
        /// Also each request and answer, redirects and retries included, with the ID of its load.
        case exchanges
        /// Every event.
        case everything

        /// Returns whether `lhs` logs less than `rhs`.
        public static func < (lhs: Level, rhs: Level) -> Bool { lhs.rawValue < rhs.rawValue }
    }

    /// What is shown of requests and answers; on level ``Level/endings`` of the last answer.
    public struct Details: OptionSet, Sendable {
        /// The bits of the options.
        public let rawValue: Int

        /// Creates options from their bits.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// The queries of URLs.
        public static let queries = Details(rawValue: 1)
        /// The header lines.
        public static let headers = Details(rawValue: 2)
        /// The bodies.
        public static let bodies = Details(rawValue: 4)
    }

    /// What is known of an active load.
    private struct OpenLoad {
        let began: ContinuousClock.Instant
        var response: APIResponse?
        var isCached = false
    }

    /// The most loads whose begin and answer are known; of others, the line has no duration.
    private static let loadLimit = 100_000

    private let level: Level
    private let format: LogFormat
    private let write: @Sendable (String) -> Void
    private let loads = Mutex<[RequestID: OpenLoad]>([:])

    /// Creates a log.
    ///
    /// - Parameters:
    ///   - level: How much is logged; the endings by default.
    ///   - details: What is shown of requests and answers; by default neither queries nor headers nor bodies.
    ///   - redactor: What is shown of queries, headers and bodies.
    ///   - write: Receives each entry, a line without line feed, or a line and indented ones for headers and bodies. Called on any
    ///     thread, for several loads at once; must not block. By default, entries are written to standard error on Linux, and on
    ///     Apple's platforms to the unified log with subsystem `errand` and category `loads`.
    public init(
        _ level: Level = .endings,
        showing details: Details = [],
        redactor: Redactor = Redactor(),
        write: (@Sendable (String) -> Void)? = nil
    ) {
        self.level = level
        format = LogFormat(details: details, redactor: redactor)
        #if canImport(os)
        self.write = write ?? { SystemLog.write($0) }
        #else
        self.write = write ?? { StandardError.write(line: $0) }
        #endif
    }

    /// Logs an event, or does nothing.
    public func observe(_ event: APIEvent) {
        #if canImport(os)
        Signposts.emit(event)
        #endif
        switch event.kind {
        case .began: begin(event)
        case .answered(let response): answer(response, of: event.id, isCached: false)
        case .answeredFromCache(let response): answer(response, of: event.id, isCached: true)
        // The answer of the try before is not that of the load.
        case .tryingAgain: answer(nil, of: event.id, isCached: false)
        case .ended(let ending): return end(event, ending)
        default: break
        }
        guard level > .endings, let entry = format.entry(for: event, isEverything: level == .everything) else { return }
        write("#\(event.id) \(entry)")
    }

    private func begin(_ event: APIEvent) {
        loads.withLock { loads in
            if loads.count < Self.loadLimit { loads[event.id] = OpenLoad(began: event.time) }
        }
    }

    private func answer(_ response: APIResponse?, of id: RequestID, isCached: Bool) {
        // Returns the former answer, which is released without the lock.
        loads.take { loads in
            let former = loads[id]?.response
            loads[id]?.response = response
            loads[id]?.isCached = isCached
            return former
        }
    }

    private func end(_ event: APIEvent, _ ending: APIEnding) {
        let load = loads.take { $0.removeValue(forKey: event.id) }
        let summary = LogFormat.Ending(
            ending: ending,
            response: event.response ?? ending.error?.response ?? load?.response,
            isCached: load?.isCached == true,
            duration: load.map { $0.began.duration(to: event.time) }
        )
        let line = format.entry(for: event, summary, hidesAnswer: level > .endings)
        write(level > .endings ? "#\(event.id) \(line)" : line)
    }
}

extension APIEnding {
    /// The error of a failure.
    fileprivate var error: APIError? {
        guard case .failure(let error) = self else { return nil }
        return error
    }
}
