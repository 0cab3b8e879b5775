import Errand
import Foundation

/// One exchange as far as it was recorded, or a load that had none.
struct RecordedExchange: Sendable {
    /// How far an exchange has come.
    enum State: Sendable {
        /// It is in flight.
        case open
        /// It has its response, which is a redirect that is followed.
        case redirected
        /// It has its response.
        case responded
        /// Its response was stored, and nothing was sent.
        case cached
        /// It has ended without a response.
        case failed
        /// It has ended because its loads were cancelled.
        case cancelled
        /// Its load has ended without an exchange: refused, failed or cancelled before anything was sent.
        case unsent
    }

    /// Counts the exchanges of the recorder.
    let sequence: Int
    /// The number of the proxy; `nil` outside an exchange.
    let number: UInt64?
    /// The loads that share it, the first one first.
    private(set) var loads: [RequestID]
    let method: HTTPMethod
    let attempt: Int
    /// What its load has waited for before it.
    let cause: APIEvent.Reason?
    /// The time that its load has waited in the queue of the proxy, before its first exchange; `nil` for the others.
    var queue: Duration? { isFirst ? timings?.queue ?? observedQueue : nil }
    private let isFirst: Bool
    private var observedQueue: Duration?
    /// The path of an unsent load, redacted; `nil` for an exchange.
    private(set) var path: String?
    /// Uptimes, as those of events.
    let madeAt: Duration
    var sentAt: Duration?
    private(set) var headAt: Duration?
    private(set) var endedAt: Duration?
    private(set) var request: RecordedRequest?
    /// The beginning of a response that did not become complete.
    private(set) var head: RecordedHead?
    private(set) var response: RecordedResponse?
    /// The error of the exchange, or of a load that has refused its response.
    private(set) var error: RecordedError?
    private(set) var state = State.open
    /// The bytes that count for the limit.
    private(set) var byteCount = 0

    init(_ event: APIEvent, sequence: Int, cause: APIEvent.Reason?, isFirst: Bool) {
        self.sequence = sequence
        number = event.exchange
        loads = [event.id]
        method = event.method
        attempt = event.attempt
        self.cause = cause
        (observedQueue, self.isFirst) = (event.queue, isFirst)
        madeAt = event.uptime
    }

    /// What the transport has measured; the error of an unsent load may have the timings of another one, such as a login.
    var timings: ExchangeTimings? { state == .unsent ? nil : response?.timings ?? error?.timings }

    mutating func add(_ load: RequestID) {
        if !loads.contains(load) { loads.append(load) }
    }

    mutating func add(_ request: RecordedRequest) {
        self.request = request
        byteCount += request.byteCount
    }

    /// Adds the first head of the response.
    mutating func add(_ head: RecordedHead, at uptime: Duration) {
        guard headAt == nil else { return }
        (headAt, self.head) = (uptime, head)
        byteCount += head.headers.byteCount
    }

    /// Adds the whole response, which contains the head.
    mutating func add(_ response: RecordedResponse) {
        byteCount += response.byteCount - (head?.headers.byteCount ?? 0)
        (self.response, head) = (response, nil)
    }

    /// Adds an error in place of the one that a load of a shared exchange had before.
    mutating func add(_ error: RecordedError) {
        byteCount += error.text.utf8.count - (self.error?.text.utf8.count ?? 0)
        self.error = error
    }

    mutating func end(_ state: State, at uptime: Duration) {
        (self.state, endedAt) = (state, uptime)
    }

    /// Ends what is only the ending of a load, which has waited since it began.
    mutating func endUnsent(_ event: APIEvent) {
        (path, observedQueue) = (event.path, event.elapsed)
        byteCount += event.path.utf8.count
        end(.unsent, at: event.uptime)
    }
}
