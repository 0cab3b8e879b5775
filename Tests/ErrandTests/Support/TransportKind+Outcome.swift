import Foundation

@testable import Errand

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
