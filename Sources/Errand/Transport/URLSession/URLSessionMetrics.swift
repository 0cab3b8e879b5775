#if !canImport(FoundationNetworking)
import Foundation

// Untested: FoundationNetworking has no metrics.
extension ExchangeTimings {
    /// Adds what `URLSession` has measured of one transaction; each phase is limited to what those before have left of ``total``.
    mutating func add(_ metrics: URLSessionTaskTransactionMetrics) {
        addPhases(of: metrics)
        sentHeaderBytes = metrics.countOfRequestHeaderBytesSent
        sentBodyBytes = metrics.countOfRequestBodyBytesSent
        receivedHeaderBytes = metrics.countOfResponseHeaderBytesReceived
        receivedBodyBytes = metrics.countOfResponseBodyBytesReceived
        protocolName = metrics.networkProtocolName
        remoteAddress = metrics.remoteAddress
        remotePort = metrics.remotePort
        connectionID = metrics.localPort.map { String($0) }
        isReused = metrics.isReusedConnection
    }

    private mutating func addPhases(of metrics: URLSessionTaskTransactionMetrics) {
        var rest = total
        func phase(from start: Date?, to end: Date?) -> Duration? {
            guard let start, let end else { return nil }
            let length = min(max(.zero, .seconds(end.timeIntervalSince(start))), rest)
            rest -= length
            return length
        }
        let tlsStart = metrics.secureConnectionStartDate
        nameLookup = phase(from: metrics.domainLookupStartDate, to: metrics.domainLookupEndDate)
        connect = phase(from: metrics.connectStartDate, to: tlsStart ?? metrics.connectEndDate)
        tls = phase(from: tlsStart, to: metrics.secureConnectionEndDate)
        request = phase(from: metrics.requestStartDate, to: metrics.requestEndDate)
        firstByte = phase(from: metrics.requestEndDate, to: metrics.responseStartDate)
        body = phase(from: metrics.responseStartDate, to: metrics.responseEndDate)
    }
}
#endif
