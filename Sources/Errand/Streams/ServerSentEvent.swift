import Foundation

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
    private static let (lineFeed, carriageReturn) = (UInt8(ascii: "\n"), UInt8(ascii: "\r"))

    /// The ID of the newest event, which a reconnection sends; `nil` until the server has sent one.
    private(set) var lastEventID: String?
    /// `nil` until the server has sent one.
    private(set) var reconnectionTime: Duration?
    /// Whether this connection has had an event.
    private(set) var hasEvent = false
    /// In bytes, of one event.
    private let limit: Int
    /// The beginning of a line whose end has not arrived.
    private var line: [UInt8] = []
    private var data: [UInt8] = []
    private var event = ""
    private var id: String?
    private var isFirstLine = true
    /// The line feed that may follow ends the same line.
    private var endsWithCarriageReturn = false

    package init(limit: Int) { self.limit = limit }

    /// For a new connection: an event that is not complete is discarded.
    mutating func reconnect() {
        let former = self
        self = ServerSentEventParser(limit: limit)
        // An event without an ID has that of the one before.
        (lastEventID, reconnectionTime) = (former.lastEventID, former.reconnectionTime)
    }

    package mutating func parse(_ bytes: UnsafeRawBufferPointer, into events: inout [ServerSentEvent]) throws(APIError)
    {
        var rest = bytes
        if endsWithCarriageReturn, let first = rest.first {
            endsWithCarriageReturn = false
            if first == Self.lineFeed { rest = rest.dropping(1) }
        }
        // Searched once, because most streams have none.
        var nextReturn = rest.firstIndex(of: Self.carriageReturn)
        var start = 0
        while start < rest.count {
            if let found = nextReturn, found < start {
                nextReturn = rest.firstIndex(of: Self.carriageReturn, from: start)
            }
            let bound = nextReturn ?? rest.count
            let end = rest.firstIndex(of: Self.lineFeed, from: start, to: bound) ?? bound
            let part = UnsafeRawBufferPointer(rebasing: rest[start..<end])
            guard end < rest.count else {
                try keep(part)
                return
            }
            if line.isEmpty {
                try process(part, into: &events)
            } else {
                try keep(part)
                let whole = exchange(&line, with: [])
                try whole.withBytes { line throws(APIError) in try process(line, into: &events) }
            }
            start = end + 1
            guard end == nextReturn else { continue }
            if start == rest.count { endsWithCarriageReturn = true } else if rest[start] == Self.lineFeed { start += 1 }
        }
    }

    private mutating func keep(_ part: UnsafeRawBufferPointer) throws(APIError) {
        try checkSize(adding: part.count)
        line += part
    }

    private func checkSize(adding count: Int) throws(APIError) {
        guard data.count + line.count + count > limit else { return }
        throw APIError(.responseTooLarge, reason: "an event is larger than \(limit) bytes")
    }

    private mutating func process(
        _ line: UnsafeRawBufferPointer,
        into events: inout [ServerSentEvent]
    ) throws(APIError) {
        // As `keep(_:)` does, so that the result is the same wherever a line is cut.
        try checkSize(adding: line.count)
        var line = line
        if isFirstLine, line.starts(with: UTF8.byteOrderMark) { line = line.dropping(UTF8.byteOrderMark.count) }
        isFirstLine = false
        guard let first = line.first else { return dispatch(into: &events) }
        // A comment.
        guard first != UInt8(ascii: ":") else { return }
        let colon = line.firstIndex(of: UInt8(ascii: ":"))
        let name = UnsafeRawBufferPointer(rebasing: line[..<(colon ?? line.count)])
        var value = UnsafeRawBufferPointer(rebasing: line[(colon.map { $0 + 1 } ?? line.count)...])
        if value.first == UInt8(ascii: " ") { value = value.dropping(1) }
        switch name.count {
        case 4 where name.isEqual(to: "data"):
            data += value
            data.append(Self.lineFeed)
        case 5 where name.isEqual(to: "event"): event = String(decoding: value, as: UTF8.self)
        case 2 where name.isEqual(to: "id"):
            if !value.contains(0) { id = String(decoding: value, as: UTF8.self) }
        case 5 where name.isEqual(to: "retry"):
            guard !value.isEmpty, value.allSatisfy(\.isASCIIDigit) else { return }
            reconnectionTime = .milliseconds(Int32(String(decoding: value, as: UTF8.self)) ?? .max)
        default: break
        }
    }

    private mutating func dispatch(into events: inout [ServerSentEvent]) {
        if let id { lastEventID = id }
        guard !data.isEmpty else { return event = "" }
        let text = data.withUnsafeBytes { String(decoding: $0.dropLast(), as: UTF8.self) }
        hasEvent = true
        events.append(ServerSentEvent(event: event.isEmpty ? "message" : event, data: text, id: lastEventID ?? ""))
        data.removeAll(keepingCapacity: data.count < 4_096)
        if !event.isEmpty { event = "" }
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func isEqual(to text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount, let baseAddress else { return false }
        return memcmp(baseAddress, text.utf8Start, count) == 0
    }
}
