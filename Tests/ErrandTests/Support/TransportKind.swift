import FixtureServer
import Foundation
import Testing

@testable import Errand

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

/// What happens to a request of a transport that is made with a configuration.
enum TransportOutcome: Equatable, CustomStringConvertible {
    /// A response with this status.
    case status(Int)
    /// The request fails.
    case failed(TransportError.Kind)
    /// The transport is not made, because it cannot apply this setting.
    case refused(String)
    /// The transport is not made, for a reason that names no setting.
    case notMade(TransportError)

    var description: String {
        switch self {
        case .status(let status): "status \(status)"
        case .failed(let kind): "failed: \(kind)"
        case .refused(let setting): "refused: \(setting)"
        case .notMade(let error): "not made: \(error)"
        }
    }

    static func == (one: TransportOutcome, other: TransportOutcome) -> Bool { one.description == other.description }
}

extension TransportKind {
    /// Returns what happens to a request of a new transport.
    func outcome(
        of request: HTTPRequest,
        _ configuration: TransportConfiguration = TransportConfiguration()
    ) async -> TransportOutcome {
        let transport: any HTTPTransport
        do { transport = try make(configuration) } catch {
            let error = error as? TransportError ?? TransportError(.cannotConnect, "\(error)")
            let setting = error.reason.firstMatch(of: /the setting (.+?) cannot be applied: ./)?.1
            guard error.kind == .invalidRequest, let setting else { return .notMade(error) }
            return .refused(String(setting))
        }
        do throws(TransportError) {
            return .status(try await transport.send(request, progress: nil).status)
        } catch {
            return .failed(error.kind)
        }
    }

    /// The settings that URLSession refuses on Apple's platforms.
    private static let refusedOnApple: Set = ["connectTimeout", "idleConnectionAge", "unixSocketPath"]

    /// The outcome where this transport can apply `setting`, which URLSession on Linux never can.
    func expected(_ outcome: TransportOutcome, with setting: String) -> TransportOutcome {
        #if os(Linux)
        return self == .urlSession ? .refused(setting) : outcome
        #else
        return Self.refusedOnApple.contains(setting) ? .refused(setting) : outcome
        #endif
    }
}

extension HTTPTransport {
    /// Sends a request, and returns its error; `nil` with a response.
    func error(of request: HTTPRequest, progress: TransferProgress.Handler? = nil) async -> TransportError? {
        do {
            _ = try await send(request, progress: progress)
            return nil
        } catch {
            return error
        }
    }

    /// Sends a request, and returns the kind of its error; `nil` with a response.
    func ending(of request: HTTPRequest, progress: TransferProgress.Handler? = nil) async -> TransportError.Kind? {
        await error(of: request, progress: progress)?.kind
    }
}

extension HTTPRequest {
    /// Creates a request to a server of this process.
    init(
        _ method: HTTPMethod = .get,
        to server: FixtureServer,
        _ path: String = "/",
        headers: HTTPHeaders = [:],
        body: HTTPBody = .empty
    ) {
        self.init(method, server.url(path), headers: headers, body: body)
        deadline = .seconds(40)
    }
}

extension Trait where Self == Comment {
    /// The number of the case in the fault matrix that a test covers.
    static func fault(_ number: Int) -> Comment { "fault \(number)" }
}
