/// Observes the events of loads and plain calls, and changes nothing.
///
/// Add one to ``APIProxy`` for all of its loads, or to ``APIService/monitors`` for those of a service. Without monitors, events
/// cost nothing.
public protocol APIMonitor: Sendable {
    /// Observes an event.
    ///
    /// Called on any thread, for one load in the order of its events and never at the same time; for several loads at once. Must
    /// not block. May call the library; what it begins has events of its own.
    ///
    /// - Parameter event: The event. It can contain secrets, which its description and ``Redactor`` do not print.
    func observe(_ event: APIEvent)
}
