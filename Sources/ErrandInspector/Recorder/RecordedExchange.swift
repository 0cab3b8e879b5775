import Errand
import Foundation

/// One exchange as far as it was recorded.
struct RecordedExchange: Sendable {
    /// How far an exchange has come.
    enum State: Sendable {
        /// It is in flight.
        case open
        /// It has its answer, which is a redirect that is followed.
        case redirected
        /// It has its answer.
        case answered
        /// Its answer was stored, and nothing was sent.
        case cached
        /// It has ended without an answer.
        case failed
        /// It has ended because its loads were cancelled.
        case cancelled
    }

    /// Counts the exchanges of the recorder.
    let sequence: Int
    /// The number of the proxy; `nil` outside an exchange.
    let number: UInt64?
    /// The loads that share it, the first one first.
    var loads: [RequestID]
    let method: HTTPMethod
    let attempt: Int
    /// What its load has waited for before it.
    let cause: APIEvent.Reason?
    /// The time that its load has waited in the queue of the proxy, before its first exchange; `nil` for the others.
    var queue: Duration? { isFirst ? timings?.queue ?? observedQueue : nil }
    private let isFirst: Bool
    private let observedQueue: Duration?
    let madeAt: ContinuousClock.Instant
    var request: RecordedRequest?
    var sentAt: ContinuousClock.Instant?
    var headAt: ContinuousClock.Instant?
    var endedAt: ContinuousClock.Instant?
    /// The beginning of an answer that did not become complete.
    var head: RecordedHead?
    var response: RecordedResponse?
    /// The error of the exchange, or of a load that has refused its answer.
    var error: RecordedError?
    var state = State.open

    init(_ event: APIEvent, sequence: Int, cause: APIEvent.Reason?, queue: Duration?, isFirst: Bool) {
        self.sequence = sequence
        number = event.exchange
        loads = [event.id]
        method = event.method
        attempt = event.attempt
        self.cause = cause
        (observedQueue, self.isFirst) = (queue, isFirst)
        madeAt = event.time
    }

    /// The bytes that count for the limit.
    var byteCount: Int {
        (request?.byteCount ?? 0) + (response?.byteCount ?? 0) + (head?.byteCount ?? 0) + (error?.text.utf8.count ?? 0)
    }

    /// What the transport has measured.
    var timings: ExchangeTimings? { response?.timings ?? error?.timings }

    mutating func add(_ load: RequestID) {
        if !loads.contains(load) { loads.append(load) }
    }

    mutating func end(_ state: State, at time: ContinuousClock.Instant) {
        self.state = state
        endedAt = time
        if response != nil { head = nil }
    }
}
