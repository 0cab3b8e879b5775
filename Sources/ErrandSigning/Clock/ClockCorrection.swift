public import Errand
import Foundation

/// Corrects the timestamps of signatures by the server's `Date`, for devices whose clock is wrong.
///
/// ```swift
/// signing.clockCorrection = .onCodes([40103])
/// ```
///
/// When a server refuses a signature as stale, the load is sent again, once. All further signatures of the service and its copies
/// in this environment then use the time of the server's `Date` (RFC 9110 section 6.6.1), even if the device's clock changes. A
/// response corrects the time only if its `Date` differs by more than two seconds from the time of the next signature; otherwise
/// the refusal fails the load, unless the device's clock was set since its request was signed. A response to a request whose
/// attempt began before the last correction corrects nothing, but its load is sent again as well.
public struct ClockCorrection: Sendable {
    /// The largest correction of the device's clock; one day by default.
    ///
    /// If the `Date` of a refusal differs by more, the refusal fails the load.
    public var limit: Duration = .seconds(86_400)
    let isStale: @Sendable (APIResponse) -> Bool

    /// Creates a correction.
    ///
    /// - Parameter isStale: Returns whether a response refuses the timestamp of a signature. Called for every response of the
    ///   service's origin, with any status, that no adapter has refused before, on any thread.
    public init(isStale: @escaping @Sendable (APIResponse) -> Bool) {
        self.isStale = isStale
    }
}

extension ClockCorrection {
    /// A correction after responses with one of these statuses, which mean that a timestamp is stale.
    public static func onStatuses(_ statuses: Set<Int>) -> ClockCorrection {
        ClockCorrection { statuses.contains($0.status) }
    }

    /// A correction after responses with one of these business codes in a body in memory, whatever the status.
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

/// Corrects a clock by the responses that refuse a timestamp, and has their loads sent again.
struct ClockCorrector: Sendable {
    let correction: ClockCorrection
    let clock: ServerClock
    /// The type of the signature whose timestamps are corrected.
    let signature: Any.Type

    var adapter: Adapter<APIResponse> { Adapter(of: self) { try await adapt(&$0, context: $1) } }

    private func adapt(_ response: inout APIResponse, context: AdapterContext) async throws {
        // Another origin may have another time.
        guard response.url.hasSameOrigin(as: context.environment.baseURL), correction.isStale(response) else { return }
        // That of a stored response was the time long ago.
        guard response.source == .network, let text = response.headers["Date"], let date = CookieDate.parse(text.utf8)
        else { return }
        // A cache on the way may have stored it (RFC 9111 section 4.2.3).
        let age = response.headers["Age"].flatMap { UInt32($0) } ?? 0
        let current = date.addingTimeInterval(TimeInterval(age))
        let isCorrected = clock.correct(to: current, limit: correction.limit, context)
        // Otherwise the response says more than that it cannot be sent again.
        if isCorrected, context.maySendAgain(for: .clock) { throw AdapterRetry.again(for: .clock) }
    }
}

extension APIService {
    /// Corrects the clock of the signature of a type, instead of that of an earlier one.
    mutating func correctClock(_ clock: ServerClock, of signature: Any.Type, by correction: ClockCorrection?) {
        adapters.response.removeAll { ($0.owner as? ClockCorrector)?.signature == signature }
        guard let correction else { return }
        let corrector = ClockCorrector(correction: correction, clock: clock, signature: signature)
        adapters.response.append(corrector.adapter)
    }
}

/// The time of a server, which the signatures of one service share; that of the proxy's clock until it is corrected.
final class ServerClock: Sendable {
    /// A date of a server, and when it was current.
    private struct Correction {
        let date: Date
        let uptime: Duration
        let madeAt = SystemClock.uptime

        func date(at uptime: Duration) -> Date { date.addingTimeInterval((uptime - self.uptime) / .seconds(1)) }
    }

    /// The resolution of a `Date`, and the time that a response takes.
    private static let tolerance: TimeInterval = 2

    /// An environment, without the closures that it has.
    private struct Key: Hashable {
        let name: String
        let baseURL: URL

        init(_ environment: APIEnvironment) { (name, baseURL) = (environment.name, environment.baseURL) }
    }

    private let corrections = Lock<[Key: Correction]>([:])

    func date(for context: AdapterContext) -> Date {
        let correction = corrections.withLock { $0.isEmpty ? nil : $0[Key(context.environment)] }
        return correction?.date(at: context.clock.uptime) ?? context.clock.date
    }

    /// Corrects the clock by the date in a response.
    ///
    /// - Parameters:
    ///   - date: The date of the server.
    ///   - limit: The largest difference from the proxy's clock.
    ///   - context: The send that the response belongs to.
    /// - Returns: Whether another send may help: the clock is corrected now, or was set or corrected since the request was signed.
    func correct(to date: Date, limit: Duration, _ context: AdapterContext) -> Bool {
        let (uptime, local) = (context.clock.uptime, context.clock.date)
        guard abs(date.timeIntervalSince(local)) <= limit / .seconds(1) else { return false }
        let key = Key(context.environment)
        return corrections.withLock { corrections in
            let known = corrections[key]
            // Signed before the last correction, or at the same time as it.
            if let known, context.startedAt <= known.madeAt { return true }
            let current = known?.date(at: uptime) ?? local
            guard abs(date.timeIntervalSince(current)) > Self.tolerance else {
                // Unless the device's clock has been set since it was signed.
                let elapsed = (uptime - context.begunAt.uptime) / .seconds(1)
                let jump = local.timeIntervalSince(context.begunAt.date) - elapsed
                return known == nil && abs(jump) > Self.tolerance
            }
            corrections[key] = Correction(date: date, uptime: uptime)
            return true
        }
    }
}
