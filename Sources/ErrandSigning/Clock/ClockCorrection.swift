public import Errand
import Foundation

/// Corrects the timestamps of signatures by the server's `Date`, for devices whose clock is wrong.
///
/// ```swift
/// signing.clockCorrection = .onCodes([40103])
/// ```
///
/// When a server refuses a signature as stale, the load is sent again, once, with `AdapterRetry`. All further signatures of the
/// service and its copies in this environment then use the time of the server's `Date` (RFC 9110 section 6.6.1), even if the
/// device's clock changes. A response corrects the time only if its `Date` differs by more than two seconds from the time with
/// which its request was signed; otherwise the refusal fails the load. A response to a request that was sent before the last
/// correction corrects nothing, but its load is sent again as well.
public struct ClockCorrection: Sendable {
    /// The largest correction of the device's clock; one day by default.
    ///
    /// If the `Date` of a refusal differs by more, the refusal fails the load.
    public var limit: Duration = .seconds(86_400)
    let isStale: @Sendable (APIResponse) -> Bool

    /// Creates a correction.
    ///
    /// - Parameter isStale: Returns whether a response refuses the timestamp of a signature. Called for every response of the
    ///   service's origin, with any status, on any thread.
    public init(isStale: @escaping @Sendable (APIResponse) -> Bool) {
        self.isStale = isStale
    }
}

extension ClockCorrection {
    /// A correction after responses with one of these statuses, which mean that a timestamp is stale.
    public static func onStatuses(_ statuses: Set<Int>) -> ClockCorrection {
        ClockCorrection { statuses.contains($0.status) }
    }

    /// A correction after responses with one of these business codes, whatever the status.
    ///
    /// - Parameters:
    ///   - codes: The codes that mean that a timestamp is stale.
    ///   - key: The name of the code in the JSON object of the response, or a path of names such as `error.code`.
    /// - Returns: A correction.
    public static func onCodes(_ codes: Set<ServerCode>, at key: String = "errcode") -> ClockCorrection {
        ClockCorrection { response in
            guard !response.body.isEmpty, let body = try? JSONValue(damaged: response.body) else { return false }
            return ServerCode(in: body, at: key).map(codes.contains) ?? false
        }
    }

    /// A correction after the errors with which AWS refuses a timestamp: `RequestTimeTooSkewed`, `RequestExpired`,
    /// `RequestInTheFuture`, "Request has expired" of a presigned URL, and `InvalidSignatureException`, `SignatureDoesNotMatch`
    /// and `AuthFailure`, which may have another cause.
    public static let aws: ClockCorrection = {
        let names = [
            "RequestTimeTooSkewed", "RequestExpired", "RequestInTheFuture", "InvalidSignatureException",
            "SignatureDoesNotMatch", "AuthFailure", "Request has expired",
        ]
        return ClockCorrection { response in
            guard (400..<500).contains(response.status) else { return false }
            let header = response.headers["x-amzn-ErrorType"] ?? ""
            let body = String(decoding: response.body.prefix(4_096), as: UTF8.self)
            return names.contains { header.contains($0) || body.contains($0) }
        }
    }()
}
