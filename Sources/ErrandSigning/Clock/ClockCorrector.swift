import Errand
import Foundation

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
        guard let text = response.headers["Date"], let date = CookieDate.parse(text.utf8) else { return }
        let verdict = clock.correct(to: date, limit: correction.limit, context)
        // Otherwise the response says more than that it cannot be sent again.
        if verdict == .corrected, context.maySendAgain { throw AdapterRetry.again() }
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
