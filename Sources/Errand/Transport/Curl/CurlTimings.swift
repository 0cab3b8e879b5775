#if os(Linux)
import CurlRuntime
import Foundation

/// The instants and counts of one exchange that libcurl does not report at its end.
struct CurlMarks {
    let clock = ExchangeClock()
    var transferBegan: MonotonicClock.Instant = 0
    /// Of the last request with a body in parts.
    private(set) var requestBegan: MonotonicClock.Instant?
    /// When the first line after such a request was received: before 8.7, libcurl's own time is that of the first byte sent.
    private(set) var firstByteAt: MonotonicClock.Instant?
    /// ``CurlInfo/requestSize`` when the last request began: the bytes of those before, and of requests to a proxy server.
    private(set) var earlierRequestBytes = 0

    mutating func beginRequest(of exchange: CurlExchange) {
        if exchange.upload.isIncomplete { requestBegan = MonotonicClock.now }
        if let handle = exchange.handle { earlierRequestBytes = handle.easy.number(.requestSize) }
    }

    mutating func receiveLine() {
        if requestBegan != nil, firstByteAt == nil { firstByteAt = MonotonicClock.now }
    }
}

/// The timings of one exchange, read from libcurl before its transfer is removed.
///
/// libcurl's times are sums from the start of the transfer, also over requests that it repeats, and some versions set the times of
/// steps that did not occur. So each phase is the difference of two, used only where its step is known to have occurred, and
/// limited to what the phases before have left of the whole.
struct CurlTimings: ~Copyable {
    private let exchange: CurlExchange
    private let handle: CurlHandle
    private let isSent: Bool
    private let version: Int
    private let now = MonotonicClock.now
    /// The nanoseconds that the next phases can have.
    private var rest: Int64

    /// `version` is the HTTP version of libcurl with which the response was sent.
    init(of exchange: CurlExchange, on handle: CurlHandle, version: Int) {
        (self.exchange, self.handle, self.version) = (exchange, handle, version)
        isSent = exchange.isSent(on: handle)
        rest = max(0, now - max(exchange.marks.clock.instant, exchange.marks.transferBegan))
    }

    private var easy: CurlEasy { handle.easy }

    private var isConnected: Bool { exchange.attempts > 0 || exchange.received.hasBegun }

    consuming func timings() -> ExchangeTimings {
        var timings = exchange.marks.clock.timings(until: now)
        guard isConnected else {
            readConnecting(into: &timings)
            return timings
        }
        let end = exchange.hasFailed ? rest : min(rest, time(.totalTime) ?? rest)
        timings.isReused = easy.number(.numConnects) == 0
        if timings.isReused == false { readConnection(into: &timings) }
        readTransfer(into: &timings, until: end)
        readCounts(into: &timings)
        readPeer(into: &timings)
        return timings
    }

    /// In nanoseconds; `nil` when it is 0 or unknown.
    private func time(_ info: CurlSizeInfo) -> Int64? {
        guard let microseconds = easy.size(info), microseconds > 0 else { return nil }
        return min(microseconds, .max / 1_000) * 1_000
    }

    /// Limits the phase to the rest of the whole.
    private mutating func phase(_ nanoseconds: Int64) -> Duration {
        let length = min(max(0, nanoseconds), rest)
        rest -= length
        return .nanoseconds(length)
    }

    /// The last step of an exchange that failed before its request was sent ended with it.
    private mutating func readConnecting(into timings: inout ExchangeTimings) {
        let (lookup, socket) = (handle.connecting.lookup_began, handle.connecting.socket_opened)
        if lookup > 0 { timings.nameLookup = phase((socket > 0 ? socket : now) - lookup) }
        guard socket > 0 else { return }
        guard exchange.url.isSecure, let connect = connectTime(since: socket) else {
            return timings.connect = phase(now - socket)
        }
        timings.connect = phase(connect)
        timings.tls = phase(rest)
    }

    /// The time from the first socket to the TLS handshake, in which the exchange has failed; `nil` if it has failed before.
    ///
    /// Some versions of libcurl report it only for a handshake that succeeds, and none for one that the loop ends. That of a
    /// handshake without a report is about the time of one round trip.
    private func connectTime(since socket: MonotonicClock.Instant) -> Int64? {
        let handshake = handle.connecting.tls_began
        if handshake > 0 { return handshake - socket }
        return time(.connectTime).map { $0 - (time(.nameLookupTime) ?? 0) } ?? handle.roundTripTime
    }

    private mutating func readConnection(into timings: inout ExchangeTimings) {
        let (lookup, socket) = (handle.connecting.lookup_began, handle.connecting.socket_opened)
        if lookup > 0, socket > 0 { timings.nameLookup = phase(socket - lookup) }
        guard let connected = time(.connectTime) else { return }
        timings.connect = phase(connected - (time(.nameLookupTime) ?? 0))
        if let secured = time(.appConnectTime) { timings.tls = phase(secured - connected) }
    }

    private mutating func readTransfer(into timings: inout ExchangeTimings, until end: Int64) {
        if let began = exchange.marks.requestBegan { return readUpload(into: &timings, since: began) }
        let began = time(.preTransferTime) ?? 0
        let firstByte = exchange.received.hasBegun ? time(.startTransferTime) : nil
        if isSent {
            // Before 8.10, libcurl does not report the end of the request.
            let request = time(.postTransferTime).map { $0 - began }
            if let request { timings.request = phase(request) }
            timings.firstByte = phase((firstByte ?? end) - began - (request ?? 0))
        } else {
            timings.request = phase((firstByte ?? end) - began)
        }
        if let firstByte { timings.body = phase(end - firstByte) }
    }

    /// A body that was sent in parts is measured by the clock of the callbacks.
    private mutating func readUpload(into timings: inout ExchangeTimings, since began: MonotonicClock.Instant) {
        let firstByte = exchange.marks.firstByteAt
        if let ended = exchange.upload.endedAt, isSent {
            timings.request = phase(ended - began)
            timings.firstByte = phase((firstByte ?? now) - ended)
        } else {
            timings.request = phase((firstByte ?? now) - began)
        }
        if let firstByte { timings.body = phase(now - firstByte) }
    }
}

// MARK: Counts

extension CurlTimings {
    /// Whether the header lines were not sent as text, or may not have been.
    private var isBinary: Bool { version >= CurlValue.httpVersion2_0 || version == 0 && exchange.url.isSecure }

    private func readCounts(into timings: inout ExchangeTimings) {
        let sent = easy.size(.sizeUpload) ?? 0
        timings.sentBodyBytes = exchange.upload.totalBytes.map { min(sent, $0) } ?? exchange.upload.sentBytes
        if !isBinary { timings.sentHeaderBytes = sentHeaderBytes(withBody: sent) }
        guard exchange.received.hasBegun else { return }
        if !isBinary { timings.receivedHeaderBytes = Int64(exchange.received.block.headBytes) }
        guard exchange.received.block.isComplete else { return }
        timings.receivedBodyBytes = exchange.received.receivedBytes
        timings.decodedBodyBytes = exchange.received.decodedBytes
    }

    /// `nil` when they cannot be distinguished from those of a body that was sent with them, or after a 100.
    private func sentHeaderBytes(withBody sent: Int64) -> Int64? {
        guard sent == 0 || exchange.request.headers["Expect"] == nil else { return nil }
        let bytes = Int64(easy.number(.requestSize) - exchange.marks.earlierRequestBytes)
        let isBodyCounted = CurlLibrary.countsBodiesOfRequests || exchange.upload.memory != nil
        let head = isBodyCounted ? bytes - sent : bytes
        let line = exchange.request.method.rawValue.utf8.count + exchange.url.target.utf8.count
        return head > line ? head : nil
    }

    private var protocolName: String? {
        switch version {
        case CurlValue.httpVersion1_0: "http/1.0"
        case CurlValue.httpVersion1_1: "http/1.1"
        case CurlValue.httpVersion2_0: "h2"
        case CurlValue.httpVersion3: "h3"
        default: nil
        }
    }

    private func readPeer(into timings: inout ExchangeTimings) {
        timings.protocolName = protocolName
        let (port, localPort) = (easy.number(.primaryPort), easy.number(.localPort))
        timings.connectionID = easy.size(.connectionID).map { String($0) } ?? (localPort > 0 ? String(localPort) : nil)
        guard port > 0, !handle.usesUnixSocket else { return }
        (timings.remoteAddress, timings.remotePort) = (easy.text(.primaryIP), port)
    }
}
#endif
