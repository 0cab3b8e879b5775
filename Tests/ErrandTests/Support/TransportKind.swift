import Errand
import Testing

/// The transports over which the behavioural suite runs.
enum TransportKind: CaseIterable, Sendable {
    case urlSession, curl

    #if os(Linux)
    static let allCases: [TransportKind] = [.urlSession, .curl]
    #else
    static let allCases: [TransportKind] = [.urlSession]
    #endif

    /// The transports that survive a deadline or a cancel inside the header block: URLSession on Linux ends the process
    /// when the connection closes there, which may happen before a cancel takes effect.
    static var supportingInterruptedHeads: [TransportKind] {
        #if os(Linux)
        [.curl]
        #else
        allCases
        #endif
    }

    /// Creates a transport of this kind with separate connections.
    func make(_ configuration: TransportConfiguration = TransportConfiguration()) throws -> any HTTPTransport {
        #if os(Linux)
        if self == .curl { return try CurlTransport(configuration) }
        #endif
        return try URLSessionTransport(configuration)
    }

    /// Sends one request through a new transport.
    func send(_ request: HTTPRequest, progress: TransferProgress.Handler? = nil) async throws -> HTTPResponse {
        try await make().send(request, progress: progress)
    }

    /// Returns the error of a request; a response is a test failure.
    func failure(
        of request: HTTPRequest,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> TransportError {
        let transport = try make()
        return try await #require(throws: TransportError.self, sourceLocation: sourceLocation) {
            _ = try await transport.send(request, progress: nil)
        }
    }
}
