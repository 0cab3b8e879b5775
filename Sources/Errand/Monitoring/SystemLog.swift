#if canImport(os)
import os

/// The unified log and the signposts of Apple's platforms.
///
/// Not tested: no machine with one of these platforms was available.
enum SystemLog {
    private static let logger = Logger(subsystem: "errand", category: "loads")
    private static let signposter = OSSignposter(subsystem: "errand", category: "loads")

    /// The events that are signposts.
    static let signpostKinds: APIEvent.Kinds = [.began, .requestMade, .answered, .ended]

    /// Writes an entry, which contains no secrets and is therefore public.
    static func write(_ entry: String) {
        logger.info("\(entry, privacy: .public)")
    }

    /// Begins and ends the interval of a load, and marks its requests and answers, for Instruments.
    static func signpost(_ event: APIEvent) {
        guard signposter.isEnabled else { return }
        let id = OSSignpostID(event.id.rawValue)
        switch event.kind {
        case .began:
            _ = signposter.beginInterval("load", id: id, "\(event.method.rawValue) \(event.path, privacy: .public)")
        case .requestMade: signposter.emitEvent("request", id: id)
        case .answered: signposter.emitEvent("answer", id: id)
        case .ended: signposter.endInterval("load", .beginState(id: id))
        default: break
        }
    }
}
#endif
