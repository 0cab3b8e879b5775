#if canImport(os)
import os

/// The unified log of Apple's platforms, with the subsystem `errand`.
///
/// Untested.
enum SystemLog {
    private static let loads = Logger(subsystem: "errand", category: "loads")
    private static let faults = Logger(subsystem: "errand", category: "fault")

    /// The entry contains no secrets and is therefore public.
    static func write(_ entry: String) {
        loads.info("\(entry, privacy: .public)")
    }

    /// The text contains no secrets and is therefore public.
    static func writeFault(_ text: String) {
        faults.fault("\(text, privacy: .public)")
    }
}
#endif
