#if canImport(os)
import os

/// The intervals of loads in Instruments, with the subsystem `errand`.
///
/// Untested.
enum Signposts {
    private static let signposter = OSSignposter(subsystem: "errand", category: "loads")

    static func emit(_ event: APIEvent) {
        guard signposter.isEnabled else { return }
        let id = OSSignpostID(event.id.rawValue)
        switch event.kind {
        case .began:
            // The interval is ended by its identifier, without the state that is returned.
            _ = signposter.beginInterval(
                "load",
                id: id,
                "\(event.method.rawValue, privacy: .public) \(event.path, privacy: .public)"
            )
        case .requestMade: signposter.emitEvent("request", id: id)
        case .responded: signposter.emitEvent("response", id: id)
        case .ended: signposter.endInterval("load", .beginState(id: id))
        default: break
        }
    }
}
#endif
