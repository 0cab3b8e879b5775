public import Errand
import Foundation

/// How the timestamps of signatures are corrected by the `Date` of a server, for devices whose clock is wrong.
///
/// ```swift
/// signing.clockCorrection = .onCodes([40103])
/// ```
///
/// When a server refuses a signature as stale, its `Date` (RFC 9110 section 6.6.1) is the time of all further signatures of the
/// service and its copies in this environment, and the load is sent again, once, by `AdapterRetry`. Further changes of
/// the device's clock have no effect then. A response corrects the time only if it differs by more than two seconds from the one
/// that its request was signed with; otherwise the refusal is the failure of the load. A response to a request that was sent
/// before the last correction corrects nothing, and its load is sent again as well.
public struct ClockCorrection: Sendable {
    /// By how much the device's clock may be corrected; one day by default.
    ///
    /// A refusal with a `Date` that is further away is the failure of the load.
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
        let names = key.split(separator: ".").map(String.init)
        return ClockCorrection { response in
            guard !response.body.isEmpty, let body = try? JSONValue(json: response.body) else { return false }
            let value = body[key] ?? names.reduce(.some(body)) { object, name in object?[name] }
            return ServerCode(json: value).map(codes.contains) ?? false
        }
    }

    /// A correction after the errors with which AWS refuses a timestamp: `RequestTimeTooSkewed`, `RequestExpired`,
    /// `RequestInTheFuture`, and `InvalidSignatureException`, `SignatureDoesNotMatch` and `AuthFailure`, which may have another
    /// cause.
    public static let aws: ClockCorrection = {
        let names = [
            "RequestTimeTooSkewed", "RequestExpired", "RequestInTheFuture", "InvalidSignatureException",
            "SignatureDoesNotMatch", "AuthFailure",
        ]
        return ClockCorrection { response in
            guard (400..<500).contains(response.status) else { return false }
            let header = response.headers["x-amzn-ErrorType"] ?? ""
            let body = String(decoding: response.body.prefix(4_096), as: UTF8.self)
            return names.contains { header.contains($0) || body.contains($0) }
        }
    }()
}
