import Errand
import Foundation

/// Corrects a clock by the answers that refuse a timestamp, and has their loads sent again.
struct ClockCorrector: ResponseAdapter {
    let correction: ClockCorrection
    let clock: ServerClock
    /// The type of the signature whose timestamps are corrected.
    let signature: Any.Type

    func adapt(_ response: inout APIResponse, context: AdapterContext) async throws {
        // Another origin may have another time.
        guard response.url.hasSameOrigin(as: context.environment.baseURL), correction.isStale(response) else { return }
        guard let text = response.headers["Date"], let date = CookieDate.parse(text.utf8) else { return }
        let verdict = clock.correct(to: date, limit: correction.limit, context)
        if verdict == .corrected { throw AdapterRetry.again() }
    }
}

extension APIService {
    /// Corrects the clock of the signature of a type, instead of that of an earlier one.
    mutating func correctClock(_ clock: ServerClock, of signature: Any.Type, by correction: ClockCorrection?) {
        responseAdapters.removeAll { ($0 as? ClockCorrector)?.signature == signature }
        guard let correction else { return }
        responseAdapters.append(ClockCorrector(correction: correction, clock: clock, signature: signature))
    }
}
