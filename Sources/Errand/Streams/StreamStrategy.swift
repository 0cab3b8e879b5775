public import Foundation

/// How the elements of a ``StreamAPIRequest`` are read from its response: bytes, lines, JSON lines or server-sent events.
public struct StreamStrategy<Element: Sendable>: Sendable {
    /// The size in bytes that a line or an event may have; 1 MiB by default.
    ///
    /// A larger one fails the load with `responseTooLarge`.
    public var elementBytes = 1 << 20
    /// The longest delay before a reconnection of an event stream, at least 100 ms; 30 s by default.
    ///
    /// The first delay is the time that the server has sent as `retry`, at least 100 ms, or 3 s. Those after it are random,
    /// from 0 up to a longest one that doubles with each attempt, at least 500 ms ("full jitter"). They begin anew after a
    /// connection with an event, and after one that was open for as long as the longest delay before it, at least for 3 s.
    public var maxReconnectionDelay: Duration = .seconds(30)
    /// Whether an event stream connects again when its connection ends or is lost; true by default.
    ///
    /// Only a `GET` does; the other strategies never do.
    public var reconnects = true

    /// Whether the response is an event stream.
    let isOfEvents: Bool
    let makeReader: @Sendable (APIService, _ limit: Int) -> any StreamReader<Element>
}

/// Reads the elements of one load; used by one task at a time.
protocol StreamReader<Element> {
    associatedtype Element: Sendable

    /// That of server-sent events; `nil` for others.
    var parser: ServerSentEventParser? { get set }

    /// Appends the elements before an error as well.
    mutating func read(_ bytes: UnsafeRawBufferPointer, into elements: inout [Element]) throws(APIError)
    /// At the end of a response that is complete.
    mutating func finish(into elements: inout [Element]) throws(APIError)
}

extension StreamReader {
    var parser: ServerSentEventParser? {
        get { nil }
        set {}
    }
    mutating func finish(into elements: inout [Element]) throws(APIError) {}
}

extension StreamStrategy<Data> {
    /// The bytes as they arrive; an element is a part of any size.
    public static var bytes: Self { Self(isOfEvents: false) { _, _ in ByteReader() } }
}

extension StreamStrategy<String> {
    /// The lines of a text in UTF-8, without their ends: LF or CRLF.
    public static var lines: Self {
        Self(isOfEvents: false) { _, limit in
            LineReader(limit) { line, _ throws(APIError) in String(decoding: line, as: UTF8.self) }
        }
    }
}

extension StreamStrategy<ServerSentEvent> {
    /// Server-sent events.
    public static var events: Self { .events { event, _ in event } }
}

extension StreamStrategy where Element: Decodable {
    /// One JSON value in each line (NDJSON), decoded by the service's decoder; empty lines are skipped.
    public static var jsonLines: Self {
        Self(isOfEvents: false) { service, limit in
            LineReader(limit) { line, number throws(APIError) in
                guard line.contains(where: { $0 > UInt8(ascii: " ") }) else { return nil }
                return try service.element(Element.self, in: Data(line), "line \(number)")
            }
        }
    }

    /// Server-sent events whose data is JSON, decoded by the service's decoder.
    ///
    /// - Parameter names: The types of the events that are elements; others are ignored. `nil`, the default, is all types.
    /// - Returns: The strategy.
    public static func jsonEvents(named names: Set<String>? = nil) -> Self {
        Self(isOfEvents: true) { service, limit in
            EventReader(limit) { event throws(APIError) in
                guard names?.contains(event.event) != false else { return nil }
                return try service.element(Element.self, in: Data(event.data.utf8), "the data of an event")
            }
        }
    }
}

extension StreamStrategy {
    /// Server-sent events, each made an element by a closure.
    ///
    /// - Parameter transform: Returns the element, perhaps with the decoder of the service; `nil` ignores the event. Called once
    ///   for each event, off the main actor. An error fails the load with `decoding`, unless it is an ``APIError``.
    /// - Returns: The strategy.
    public static func events(
        _ transform: @escaping @Sendable (ServerSentEvent, any ResponseDecoder) throws -> Element?
    ) -> Self {
        Self(isOfEvents: true) { service, limit in
            EventReader(limit) { event throws(APIError) in
                try APIError.mapped(to: .decoding, reason: "an event could not be read") {
                    try transform(event, service.customDecoder ?? service.decoder)
                }
            }
        }
    }

    /// That of the type of the elements; `nil` where there is none.
    static var automatic: Self? {
        switch Element.self {
        case is Data.Type: StreamStrategy<Data>.bytes as? Self
        case is String.Type: StreamStrategy<String>.lines as? Self
        case is ServerSentEvent.Type: StreamStrategy<ServerSentEvent>.events as? Self
        case let type as any (Decodable & Sendable).Type: jsonLines(of: type)
        default: nil
        }
    }

    private static func jsonLines<Value: Decodable & Sendable>(of type: Value.Type) -> Self? {
        StreamStrategy<Value>.jsonLines as? Self
    }
}

extension APIService {
    /// The position, and not the content, is in the error.
    fileprivate func element<Value: Decodable>(
        _ type: Value.Type,
        in data: Data,
        _ position: String
    ) throws(APIError) -> Value {
        do {
            if let customDecoder { return try customDecoder.decode(Value.self, from: data) }
            return try JSONDocument.decode(data, with: decoder) { try $0.singleValueContainer().decode(Value.self) }
        } catch {
            throw APIError(.decoding, reason: "\(position) is no \(Value.self)", underlying: error)
        }
    }
}

private struct ByteReader: StreamReader {
    mutating func read(_ bytes: UnsafeRawBufferPointer, into elements: inout [Data]) { elements.append(Data(bytes)) }
}

/// Splits bytes into lines as they arrive, wherever they are cut: a line ends with LF or CRLF, the last one also without.
struct LineReader<Element: Sendable>: StreamReader {
    /// In bytes, of one line.
    private let limit: Int
    private let element: (UnsafeRawBufferPointer, _ number: Int) throws(APIError) -> Element?
    private var line: [UInt8] = []
    /// The number of the newest complete line.
    private var count = 0

    init(_ limit: Int, _ element: @escaping (UnsafeRawBufferPointer, _ number: Int) throws(APIError) -> Element?) {
        (self.limit, self.element) = (limit, element)
    }

    mutating func read(_ bytes: UnsafeRawBufferPointer, into elements: inout [Element]) throws(APIError) {
        var rest = bytes
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let part = UnsafeRawBufferPointer(rebasing: rest[..<end])
            rest = rest.dropping(end + 1)
            try checkSize(part)
            if line.isEmpty {
                try append(part, to: &elements)
            } else {
                line += part
                try finish(into: &elements)
            }
        }
        try checkSize(rest)
        line += rest
    }

    /// For a last line without an end.
    mutating func finish(into elements: inout [Element]) throws(APIError) {
        guard !line.isEmpty else { return }
        let whole = exchange(&line, with: [])
        try whole.withBytes { line throws(APIError) in try append(line, to: &elements) }
    }

    private mutating func append(_ line: UnsafeRawBufferPointer, to elements: inout [Element]) throws(APIError) {
        count += 1
        var text = line.last == UInt8(ascii: "\r") ? UnsafeRawBufferPointer(rebasing: line.dropLast()) : line
        if count == 1, text.starts(with: UTF8.byteOrderMark) { text = text.dropping(UTF8.byteOrderMark.count) }
        if let element = try element(text, count) { elements.append(element) }
    }

    /// The end of a line does not count.
    private func checkSize(_ part: UnsafeRawBufferPointer) throws(APIError) {
        guard line.count + part.count - ((part.last ?? line.last) == UInt8(ascii: "\r") ? 1 : 0) > limit else { return }
        throw APIError(.responseTooLarge, reason: "line \(count + 1) is larger than \(limit) bytes")
    }
}

private struct EventReader<Element: Sendable>: StreamReader {
    var parser: ServerSentEventParser?
    private let element: (ServerSentEvent) throws(APIError) -> Element?

    init(_ limit: Int, _ element: @escaping (ServerSentEvent) throws(APIError) -> Element?) {
        (parser, self.element) = (ServerSentEventParser(limit: limit), element)
    }

    mutating func read(_ bytes: UnsafeRawBufferPointer, into elements: inout [Element]) throws(APIError) {
        var events: [ServerSentEvent] = []
        let result = Result { () throws(APIError) in try parser?.parse(bytes, into: &events) }
        for event in events {
            if let element = try element(event) { elements.append(element) }
        }
        _ = try result.get()
    }
}
