/// A server-sent event, as the WHATWG HTML standard defines it (section 9.2.6).
public struct ServerSentEvent: Sendable, Hashable {
    /// The type of the event; "message" unless the server names another one.
    public var event: String
    /// The data, with a line feed between its lines.
    public var data: String
    /// The last ID that the server has sent with this event or an earlier one; empty if there is none.
    public var id: String

    /// Creates an event, for example in a test.
    public init(event: String = "message", data: String, id: String = "") {
        (self.event, self.data, self.id) = (event, data, id)
    }
}

extension ServerSentEvent: RedactedDescription {
    /// The size of the data.
    public var description: String { "ServerSentEvent(\(data.utf8.count) bytes)" }
}

/// Parses an event stream part by part, wherever it is cut (WHATWG HTML section 9.2.6).
package struct ServerSentEventParser {
    /// The ID of the newest event, which a reconnection sends; `nil` until the server has sent one.
    private(set) var lastEventID: String?
    /// `nil` until the server has sent one.
    private(set) var reconnectionTime: Duration?
    /// Whether this connection has had an event.
    private(set) var hasEvent = false
    /// In bytes, of one event.
    private let limit: Int
    private var lines = LineSplitter(endsAtReturns: true)
    private var data: [UInt8] = []
    private var type = ""
    private var id: String?

    package init(limit: Int) { self.limit = limit }

    /// For a new connection: an event that is not complete is discarded.
    mutating func reconnect() {
        let former = self
        self = ServerSentEventParser(limit: limit)
        // An event without an ID has that of the one before.
        (lastEventID, reconnectionTime) = (former.lastEventID, former.reconnectionTime)
    }

    package mutating func parse(
        _ bytes: UnsafeRawBufferPointer,
        _ body: (ServerSentEvent) throws(APIError) -> Void
    ) throws(APIError) {
        // Not in `self`, which changes with each line.
        var lines = exchange(&self.lines, with: LineSplitter(endsAtReturns: true))
        defer { self.lines = lines }
        try lines.split(bytes) { line, number throws(APIError) in
            try checkSize(adding: line.count)
            let hasMark = number == 1 && line.starts(with: UTF8.byteOrderMark)
            if let event = process(hasMark ? line.dropping(UTF8.byteOrderMark.count) : line) { try body(event) }
        }
        try checkSize(adding: lines.rest.count)
    }

    private func checkSize(adding count: Int) throws(APIError) {
        guard data.count + count > limit else { return }
        throw APIError(.responseTooLarge, reason: "an event is larger than \(limit) bytes")
    }

    /// Returns the event that the line completes.
    private mutating func process(_ line: UnsafeRawBufferPointer) -> ServerSentEvent? {
        guard !line.isEmpty else { return event() }
        let name = line.prefix { $0 != UInt8(ascii: ":") }
        var value = line.dropping(min(name.count + 1, line.count))
        if value.first == UInt8(ascii: " ") { value = value.dropping(1) }
        // A comment has an empty name.
        switch String(decoding: name, as: UTF8.self) {
        case "data":
            data += value
            data.append(UInt8(ascii: "\n"))
        case "event": type = String(decoding: value, as: UTF8.self)
        case "id":
            if !value.contains(0) { id = String(decoding: value, as: UTF8.self) }
        case "retry":
            guard !value.isEmpty, value.allSatisfy(\.isASCIIDigit) else { return nil }
            reconnectionTime = .milliseconds(Int32(String(decoding: value, as: UTF8.self)) ?? .max)
        default: break
        }
        return nil
    }

    private mutating func event() -> ServerSentEvent? {
        defer { type = "" }
        if let id { lastEventID = id }
        guard !data.isEmpty else { return nil }
        let text = data.withUnsafeBytes { String(decoding: $0.dropLast(), as: UTF8.self) }
        hasEvent = true
        data.removeAll(keepingCapacity: data.count < 4_096)
        return ServerSentEvent(event: type.isEmpty ? "message" : type, data: text, id: lastEventID ?? "")
    }
}
