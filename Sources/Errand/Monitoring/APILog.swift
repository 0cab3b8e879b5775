import Foundation

/// A monitor that logs loads as lines of text.
///
/// ```swift
/// let proxy = APIProxy()
/// proxy.monitors = [APILog()]
/// ```
///
/// By default, writes one line for each ending. The line contains method, path, status, business code, duration, bytes and number
/// of attempts, and for a failure the type of the error and its reason.
///
/// ```
/// GET /goods/{id} 200 | 12.3 ms | 2.1 KB | 1 try
/// POST /orders 200 failed: server, code 5001 | 30.1 ms | 54 B | 1 try
/// GET /goods/{id} failed: timeout, the connection was silent for too long | 60.0 s | 1 try
/// ```
///
/// Queries, headers and bodies are logged only if they are passed to ``init(_:showing:write:)``, and only with the values that
/// ``Redactor/shared`` considers harmless. Control characters in texts from servers and apps are escaped, so that they cannot
/// forge a line or control a terminal.
///
/// A log with the level ``APIEvent/Level/endings`` costs a few microseconds for each load.
public final class APILog: APIMonitor {
    /// What is shown of requests and responses; on level ``APIEvent/Level/endings`` of the last response.
    public struct Details: OptionSet, Sendable {
        /// The bits of the options.
        public let rawValue: Int

        /// Creates options from their bits.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// The queries of URLs, also of the URL of a response in the line for an ending.
        public static let queries = Details(rawValue: 1)
        /// The header lines.
        public static let headers = Details(rawValue: 2)
        /// The bodies.
        public static let bodies = Details(rawValue: 4)
    }

    private let level: APIEvent.Level
    private let format: LogFormat
    private let write: @Sendable (String) -> Void

    /// Creates a log.
    ///
    /// - Parameters:
    ///   - level: The events to log; the endings by default.
    ///   - details: What is shown of requests and responses; by default neither queries nor headers nor bodies.
    ///   - write: Receives each entry, a line without line feed, or a line and indented ones for headers and bodies. Called on any
    ///     thread, for several loads at once; must not block. By default, entries are written to standard error on Linux, and on
    ///     Apple's platforms to the unified log with subsystem `errand` and category `loads`, which keeps about 1 KB of an entry.
    public init(
        _ level: APIEvent.Level = .endings,
        showing details: Details = [],
        write: (@Sendable (String) -> Void)? = nil
    ) {
        self.level = level
        format = LogFormat(details: details)
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
        if case .ended(let ending) = event.kind { return end(event, with: ending) }
        guard level > .endings, let entry = format.entry(for: event, isEverything: level == .everything) else { return }
        write("#\(event.id) \(entry)")
    }

    /// The level of the log; on Apple's platforms every event, for the intervals in Instruments.
    public var observedLevel: APIEvent.Level {
        #if canImport(os)
        .everything
        #else
        level
        #endif
    }

    private func end(_ event: APIEvent, with ending: APIEnding) {
        let response = event.response ?? ending.error?.response
        let summary = LogFormat.Ending(
            ending: ending,
            response: response,
            isCached: response?.source ?? .network != .network
        )
        let line = format.entry(for: event, summary, hidesResponse: level > .endings)
        write(level > .endings ? "#\(event.id) \(line)" : line)
    }
}

extension APIEnding {
    fileprivate var error: APIError? {
        guard case .failure(let error) = self else { return nil }
        return error
    }
}
