#if canImport(Darwin)
import Foundation

// Untested.
extension ExchangeTimings {
    /// Adds what the session has measured of the transactions of one request, in their order.
    ///
    /// There are several when the session has sent the request again: the phases of all are added, and the rest is that of the
    /// last one, which has the final response.
    mutating func add(_ transactions: [URLSessionTaskTransactionMetrics]) {
        guard let last = transactions.last else { return }
        var rest = total
        for transaction in transactions { addPhases(of: transaction, atMost: &rest) }
        sentHeaderBytes = last.countOfRequestHeaderBytesSent
        sentBodyBytes = last.countOfRequestBodyBytesSent
        receivedHeaderBytes = last.countOfResponseHeaderBytesReceived
        receivedBodyBytes = last.countOfResponseBodyBytesReceived
        protocolName = last.networkProtocolName
        remoteAddress = last.remoteAddress
        remotePort = last.remotePort
        connectionID = last.localPort.map { String($0) }
        isReused = last.isReusedConnection
    }

    /// Adds the phases of a transaction; each is limited to what those before have left of ``total``.
    private mutating func addPhases(of metrics: URLSessionTaskTransactionMetrics, atMost rest: inout Duration) {
        func add(_ phase: inout Duration?, from start: Date?, to end: Date?) {
            guard let start, let end else { return }
            let length = min(max(.zero, .seconds(end.timeIntervalSince(start))), rest)
            rest -= length
            phase = (phase ?? .zero) + length
        }
        let (tlsStart, head) = (metrics.secureConnectionStartDate, metrics.responseStartDate)
        // A server may respond before it has received the whole request.
        let requestEnd = metrics.requestEndDate.map { min($0, head ?? $0) }
        add(&nameLookup, from: metrics.domainLookupStartDate, to: metrics.domainLookupEndDate)
        // The end of the connection is that of TLS.
        add(&connect, from: metrics.connectStartDate, to: tlsStart ?? metrics.connectEndDate)
        add(&tls, from: tlsStart, to: metrics.secureConnectionEndDate)
        add(&request, from: metrics.requestStartDate, to: requestEnd)
        add(&firstByte, from: requestEnd, to: head)
        add(&body, from: head, to: metrics.responseEndDate)
    }
}
#endif
