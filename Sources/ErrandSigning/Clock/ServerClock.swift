import Errand
import Foundation

/// The time of a server, which the signatures of one service share; that of the proxy's clock until it is corrected.
final class ServerClock: Sendable {
    /// A date of a server, and when it was current.
    private struct Correction {
        let date: Date
        let uptime: Duration
        let madeAt = SystemClock.uptime

        func date(at uptime: Duration) -> Date { date.addingTimeInterval((uptime - self.uptime) / .seconds(1)) }
    }

    /// What a response that refuses a timestamp means.
    enum Verdict: Equatable {
        /// The clock was corrected by it, or has been since its request was signed, which may also be too long ago.
        case corrected
        /// The clock is not wrong.
        case accurate
        /// The clock differs by more than the limit.
        case outOfBounds
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

    /// Returns the date to sign with.
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
    /// - Returns: Whether another send may help.
    func correct(to date: Date, limit: Duration, _ context: AdapterContext) -> Verdict {
        let (uptime, local) = (context.clock.uptime, context.clock.date)
        guard abs(date.timeIntervalSince(local)) <= limit / .seconds(1) else { return .outOfBounds }
        let key = Key(context.environment)
        return corrections.withLock { corrections in
            let known = corrections[key]
            // Signed before the last correction, or at the same time as it.
            if let known, context.startedAt <= known.madeAt { return .corrected }
            let current = known?.date(at: uptime) ?? local
            guard abs(date.timeIntervalSince(current)) > Self.tolerance else {
                // The device's clock may have been set since it was signed, or the request has waited.
                let signed = known?.date(at: context.begunAt.uptime) ?? context.begunAt.date
                return abs(date.timeIntervalSince(signed)) > Self.tolerance ? .corrected : .accurate
            }
            corrections[key] = Correction(date: date, uptime: uptime)
            return .corrected
        }
    }
}
