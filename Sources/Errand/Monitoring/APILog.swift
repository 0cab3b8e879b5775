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
/// GET /goods/{id} 200 code 200 | 12.3 ms | 2.1 KB | 1 try
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
    private let details: Details
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
        (self.level, self.details) = (level, details)
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
        if case .ended(let ending) = event.kind {
            let entry = entry(for: event, ending)
            write(level > .endings ? "#\(event.id) \(entry)" : entry)
        } else if level > .endings, let entry = entry(for: event) {
            write("#\(event.id) \(entry)")
        }
    }

    /// The level of the log; on Apple's platforms every event, for the intervals in Instruments.
    public var observedLevel: APIEvent.Level {
        #if canImport(os)
        .everything
        #else
        level
        #endif
    }
}

extension APILog {
    private var redactor: Redactor { .shared }

    // MARK: Endings

    private func entry(for event: APIEvent, _ ending: APIEnding) -> String {
        var response = event.response
        if case .failure(let error) = ending { response = response ?? error.response }
        var line = "\(event.method.rawValue.escaped) \(path(of: event, response).escaped)"
        if let response { line += " \(response.status)" }
        line += "\(outcome(of: ending, response)) | \(text(of: event.elapsed))"
        if let bytes = response?.byteCount { line += " | \(text(ofBytes: bytes))" }
        if response?.source ?? .network != .network { line += " | from the cache" }
        if event.attempt > 0 { line += " | \(event.attempt) \(event.attempt == 1 ? "try" : "tries")" }
        // On the other levels, entries before this one have them.
        guard level == .endings, let response else { return line }
        return line + responseDetails(response)
    }

    private func outcome(of ending: APIEnding, _ response: APIResponse?) -> String {
        switch ending {
        case .success: response?.serverCode.map { " code \($0)" } ?? ""
        case .failure(let error): " failed: \(failure(error))"
        case .cancelled: " cancelled"
        }
    }

    private func path(of event: APIEvent, _ response: APIResponse?) -> String {
        guard details.contains(.queries), let response else { return event.path }
        return redactor.url(response.url.absoluteString)
    }

    private func failure(_ error: APIError) -> String {
        let parts = [error.type.rawValue, error.code.map { "code \($0)" }, error.loggedReason?.escaped]
        return parts.compactMap { $0 }.joined(separator: ", ")
    }

    // MARK: Other events

    /// `nil` for an event without an entry.
    private func entry(for event: APIEvent) -> String? {
        switch event.kind {
        case .requestMade(let request): self.request(request, of: event)
        case .redirected(let response): "redirected \(response.status)" + headers(response.headers)
        case .responded(let response): "responded \(line(of: response))"
        case .respondedFromCache(let response): "responded from the cache \(line(of: response))"
        case .failed(let error): "no response: \(failure(error))"
        default:
            level == .everything ? "\(event.method.rawValue.escaped) \(event.path.escaped) \(state(event.kind))" : nil
        }
    }

    private func request(_ request: HTTPRequest, of event: APIEvent) -> String {
        let url = request.url.absoluteString
        let shown = details.contains(.queries) ? redactor.url(url) : URLRedaction.path(url)
        let line = "\(request.method.rawValue.escaped) \(shown.escaped) | try \(event.attempt)"
        return line + lines(request.headers) { redactor.body(request.body, contentType: $0) }
    }

    private func line(of response: APIResponse) -> String {
        let size = response.byteCount.map { " | \(text(ofBytes: $0))" } ?? ""
        return "\(response.status) | \(text(of: response.duration))\(size)\(responseDetails(response))"
    }

    private func responseDetails(_ response: APIResponse) -> String {
        lines(response.headers) { redactor.body(response.body, contentType: $0) }
    }

    private func state(_ kind: APIEvent.Kind) -> String {
        switch kind {
        case .began: "began"
        case .queued: "waits in the queue"
        case .started: "started"
        case .joined: "shares an exchange"
        case .missedCache(let reason): "missed the cache (\(reason.rawValue))"
        case .sent: "sent"
        case .headReceived(let status, let headers): "status \(status)" + self.headers(headers)
        case .decodedLeniently(let converted, let skipped):
            "converted \(converted.sorted { $0.key < $1.key }.map { "\($0.key.escaped): \($0.value)" }), skipped \(skipped)"
        case .renewed(let renewal): "renewed the \(renewal)"
        case .waiting(let reason, let limit):
            "waits: \(reason)" + (limit.map { ", at most \(text(of: $0))" } ?? "")
        case .tryingAgain: "is tried again"
        case .released: "has no request object any more"
        default: ""
        }
    }

    // MARK: Parts

    /// In milliseconds, or seconds from ten seconds on, with one decimal.
    private func text(of duration: Duration) -> String {
        let (seconds, attoseconds) = min(max(duration, .zero), .seconds(1_000_000_000)).components
        let microseconds = seconds * 1_000_000 + attoseconds / 1_000_000_000_000
        return seconds < 10 ? "\(tenths(microseconds / 100)) ms" : "\(tenths(microseconds / 100_000)) s"
    }

    /// In a unit of 1, 1,000 or 1,000,000 bytes.
    private func text(ofBytes count: Int64) -> String {
        switch count {
        case ..<1_000: "\(count) B"
        case ..<1_000_000: "\(tenths(count / 100)) KB"
        default: "\(tenths(count / 100_000)) MB"
        }
    }

    private func tenths(_ count: Int64) -> String { "\(count / 10).\(count % 10)" }

    private func headers(_ headers: HTTPHeaders) -> String {
        guard details.contains(.headers) else { return "" }
        return headers.map { field in
            "\n    \(redactor.name(ofHeader: field.name).escaped): \(redactor.value(ofHeader: field.name, field.value).escaped)"
        }.joined()
    }

    private func lines(_ headers: HTTPHeaders, body: (_ contentType: String?) -> String) -> String {
        let body = details.contains(.bodies) ? body(headers["Content-Type"]) : ""
        let lines = body.isEmpty ? [] : body.split(separator: "\n", omittingEmptySubsequences: false)
        return self.headers(headers) + lines.map { "\n    \($0.escaped)" }.joined()
    }
}

extension APIResponse {
    /// On the wire, if measured; `nil` for a file that was not measured.
    fileprivate var byteCount: Int64? {
        timings?.receivedBodyBytes ?? (file == nil ? Int64(body.count) : nil)
    }
}

extension StringProtocol {
    /// Escapes everything that a terminal or a reader of lines interprets.
    fileprivate var escaped: String {
        guard !isPrintableASCII else { return String(self) }
        return unicodeScalars.reduce(into: "") { text, scalar in
            guard !scalar.isShownAsItself else { return text.unicodeScalars.append(scalar) }
            text += scalar.escaped(asASCII: true)
        }
    }
}
