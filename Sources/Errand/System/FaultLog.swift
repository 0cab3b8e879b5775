import Foundation

#if canImport(os)
import os
#endif

/// Reports mistakes of an app that no error can report: on standard error, and on Apple's platforms also as a fault in the
/// unified log.
///
/// Each kind of mistake is reported once for each class, in every build. Called on any thread.
enum FaultLog {
    private static let reported = Lock<Set<ObjectIdentifier>>([])

    /// A request was released while it loaded and its delegate still existed; `path` has no values of parameters.
    static func reportRelease(of type: AnyClass, path: String) {
        guard reported.withLock({ $0.insert(ObjectIdentifier(type)).inserted }) else { return }
        let text =
            "\(type) was released while it loaded \(path): the load is cancelled, and its delegate is not notified. "
            + "Keep the request in a property or await value(); before discarding it, call cancelAllRequests()."
        #if canImport(os)
        SystemLog.writeFault(text)
        #endif
        StandardError.write(line: "errand: fault: \(text)")
    }
}

#if canImport(os)
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
