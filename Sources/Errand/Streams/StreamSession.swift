import Foundation

/// Reads the elements of one load, over all of its connections, and delivers them.
// `reader` is used by the one task that reads at a time, and where none does.
final class StreamSession<Element: Sendable>: StreamHandler, @unchecked Sendable {
    private struct Connection {
        /// Whether its response is the stream.
        var isOpen = false
        var hasEnded = false
        /// Since a connection that worked; 0 unless the response of an earlier connection was the stream.
        var attempts = 0
        /// The uptime at which it was opened.
        var start = Duration.zero
        /// How long it must be open to be one that works: as long as the longest delay before it.
        var leastTime = StreamSession.defaultDelay
    }

    private static var defaultDelay: Duration { .seconds(3) }

    private let strategy: StreamStrategy<Element>
    private let readsFailures: Bool
    private let clock: any APIClock
    /// Returns when the elements are received.
    private let deliver: @Sendable ([Element]) async -> Void
    private var reader: StreamReader<Element>
    private let connection = Lock(Connection())

    init(
        _ strategy: StreamStrategy<Element>,
        for service: APIService,
        clock: any APIClock,
        deliver: @escaping @Sendable ([Element]) async -> Void
    ) {
        (self.strategy, self.clock, self.deliver) = (strategy, clock, deliver)
        readsFailures = service.envelope != nil || service.failureReader != nil
        reader = StreamReader(strategy, for: service)
    }

    var expectation: HTTPBodyExpectation { strategy.isOfEvents ? .sparse : .usual }

    func prepare(_ request: inout HTTPRequest) {
        guard strategy.isOfEvents else { return }
        for line in ["Accept": "text/event-stream", "Cache-Control": "no-cache"] as HTTPHeaders
        where request.headers[line.name] == nil { request.headers.append(line) }
        if let id = reader.parser.lastEventID {
            // One with a control character is no value of a header line.
            let isValue = !id.isEmpty && !id.utf8.contains(where: \.isControlExceptTab)
            request.headers["Last-Event-ID"] = isValue ? id : nil
        }
    }

    func begin(status: Int, headers: HTTPHeaders) throws(TransportError) -> Bool {
        if status == 204 { connection.withLock { $0.hasEnded = true } }
        guard (200..<300).contains(status), status != 204 else { return false }
        if strategy.isOfEvents, status != 200 || headers.mediaType != "text/event-stream" {
            // It may be a failure in an envelope, such as an expired login, which is read like that of any load.
            if status == 200, readsFailures, headers.isJSON { return false }
            connection.withLock { $0.hasEnded = true }
            let reason = status == 200 ? "it is no text/event-stream" : "its status is \(status), not 200"
            throw TransportError(.badResponse, "the response is no event stream: \(reason)")
        }
        let now = clock.uptime
        connection.withLock { ($0.isOpen, $0.start) = (true, now) }
        return true
    }

    func receive(_ bytes: [UInt8], isLast: Bool) async throws(APIError) {
        guard connection.withLock(\.isOpen) else { return }
        var elements: [Element] = []
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(APIError) in try reader.read(bytes, isLast: isLast, into: &elements) }
        }
        if !elements.isEmpty { await deliver(elements) }
        guard case .failure(let error) = result else { return }
        connection.withLock { $0.hasEnded = true }
        throw error
    }

    var isDecided: Bool { connection.withLock { $0.isOpen || $0.hasEnded } }

    func reconnectionDelay(after error: APIError?) -> Duration? {
        let connection = connection.withLock(\.self)
        let isLost = error.map { [.transport, .noNetwork, .timeout].contains($0.type) || $0.isOfUndecidedLogin }
        let mayContinue = strategy.isOfEvents && strategy.reconnects && !connection.hasEnded
        guard mayContinue, isLost ?? connection.isOpen, connection.isOpen || connection.attempts > 0 else { return nil }
        let isProven = connection.isOpen && clock.uptime - connection.start >= connection.leastTime
        let attempts = isProven || reader.parser.hasEvent ? 0 : connection.attempts
        reader.parser.reconnect()
        // A server may ask for none, and end each connection at once.
        let base = max(reader.parser.reconnectionTime ?? Self.defaultDelay, .milliseconds(attempts == 0 ? 100 : 500))
        let limit = max(.milliseconds(100), strategy.maxReconnectionDelay)
        let longest = RetryPolicy.longestDelay(before: attempts, from: base, to: limit)
        let leastTime = max(Self.defaultDelay, .seconds(longest))
        self.connection.withLock { ($0.isOpen, $0.attempts, $0.leastTime) = (false, attempts + 1, leastTime) }
        // The first time, the server expects its own delay.
        return .seconds(attempts == 0 ? longest : longest * .random(in: 0...1))
    }
}
