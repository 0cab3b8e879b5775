/// Which events of one exchange may still be reported to the observer of its request.
///
/// Each is reported at most once, and ``TransportEvent/sent`` not after the head: a server may respond before it has received the
/// whole request.
struct ReportedEvents {
    private(set) var awaitsSent: Bool
    private(set) var awaitsHead: Bool

    init(_ request: HTTPRequest) {
        awaitsSent = request.observer != nil
        awaitsHead = awaitsSent
    }

    mutating func addSent() -> Bool {
        defer { awaitsSent = false }
        return awaitsSent
    }

    mutating func addHead() -> Bool {
        defer { (awaitsSent, awaitsHead) = (false, false) }
        return awaitsHead
    }
}
