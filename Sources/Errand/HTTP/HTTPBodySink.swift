import Foundation

/// What receives the body of a response while it arrives, instead of ``HTTPResponse/body``.
///
/// The library creates sinks, for requests that stream their response. A transport of an app that returns the body instead
/// of passing it on is correct as well: the whole body then arrives at once.
public final class HTTPBodySink: Sendable {
    /// In bytes; how much a transport passes on at a time of a body that it has in memory.
    fileprivate static let partBytes = 65_536

    package let receiver: any HTTPBodyReceiver

    package init(_ receiver: any HTTPBodyReceiver) { self.receiver = receiver }
}

extension HTTPBodySink: Equatable {
    /// Whether both are the same object.
    public static func == (lhs: HTTPBodySink, rhs: HTTPBodySink) -> Bool { lhs === rhs }
}

extension HTTPBodySink: RedactedDescription {
    /// The type.
    public var description: String { "HTTPBodySink" }
}

/// What arrives of a body at a time.
package enum HTTPBodyExpectation: Sendable {
    /// Little, with pauses between.
    case sparse
    case usual
    case large
}

/// Receives the decoded body of a response part by part.
///
/// Called by one thread at a time, in this order, until the exchange ends: ``begin(status:headers:)`` with each response, then
/// ``receive(_:)``, then ``finish()`` after the last byte of a response that is complete.
package protocol HTTPBodyReceiver: Sendable {
    /// How much a transport is to read at a time, for which it keeps memory while nothing arrives.
    var expectation: HTTPBodyExpectation { get }

    /// Returns whether the receiver takes the body; if not, it is kept in memory. Must not block.
    func begin(status: Int, headers: HTTPHeaders) throws(TransportError) -> Bool

    /// Takes all bytes; a transport asks for room before it passes the next ones. Must not block.
    func receive(_ bytes: UnsafeRawBufferPointer) throws(TransportError)

    /// Returns whether there is room; if not, `ready` is called once, on any thread, when there is, or when there will be none.
    ///
    /// While there is none, the transport reads no further, and the timeout does not run.
    func hasRoom(orCall ready: @escaping @Sendable () -> Void) -> Bool

    /// Returns when everything is stored; may block.
    func finish() throws(TransportError)
}

extension HTTPRequest {
    /// Returns what takes the body of a response instead of the transport; begins it.
    package func receiver(status: Int, headers: HTTPHeaders) throws(TransportError) -> (any HTTPBodyReceiver)? {
        guard case .stream(let sink) = destination else { return nil }
        return try sink.receiver.begin(status: status, headers: headers) ? sink.receiver : nil
    }
}

extension HTTPBodyReceiver {
    package var expectation: HTTPBodyExpectation { .usual }
    package func hasRoom(orCall ready: @escaping @Sendable () -> Void) -> Bool { true }
    package func finish() throws(TransportError) {}

    /// Passes `data` on as there is room for it; throws `cancelled` when the task is cancelled.
    package func write(_ data: Data) async throws(TransportError) {
        var rest = data[...]
        while !rest.isEmpty {
            let (waits, wait) = AsyncStream<Void>.makeStream()
            // Ends also when the task is cancelled.
            if !hasRoom(orCall: { wait.finish() }) { for await _ in waits {} }
            guard !Task.isCancelled else { throw TransportError(.cancelled, "the task was cancelled") }
            let part = rest.prefix(HTTPBodySink.partBytes)
            try part.withBytes { bytes throws(TransportError) in try receive(bytes) }
            rest = rest.dropFirst(part.count)
        }
    }
}
