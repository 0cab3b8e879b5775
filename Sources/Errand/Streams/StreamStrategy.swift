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

    let format: StreamFormat<Element>

    /// Whether the response is an event stream.
    var isOfEvents: Bool { if case .events = format { true } else { false } }
}

/// How elements are made of what a response has; `nil` is ignored.
enum StreamFormat<Element: Sendable>: Sendable {
    case bytes(@Sendable (Data) -> Element)
    case lines(@Sendable (UnsafeRawBufferPointer, _ number: Int, APIService) throws(APIError) -> Element?)
    case events(@Sendable (ServerSentEvent, APIService) throws(APIError) -> Element?)
}

extension StreamStrategy<Data> {
    /// The bytes as they arrive; an element is a part of any size.
    public static var bytes: Self { Self(format: .bytes { $0 }) }
}

extension StreamStrategy<String> {
    /// The lines of a text in UTF-8, without their ends: LF or CRLF.
    public static var lines: Self {
        Self(format: .lines { line, _, _ in String(decoding: line, as: UTF8.self) })
    }
}

extension StreamStrategy<ServerSentEvent> {
    /// Server-sent events.
    public static var events: Self { .events { event, _ in event } }
}

extension StreamStrategy where Element: Decodable {
    /// One JSON value in each line (NDJSON), decoded by the service's decoder; empty lines are skipped.
    public static var jsonLines: Self {
        let format = StreamFormat<Element>.lines { line, number, service throws(APIError) in
            guard line.contains(where: { $0 > UInt8(ascii: " ") }) else { return nil }
            return try service.element(in: Data(line), "line \(number)") as Element
        }
        return Self(format: format)
    }

    /// Server-sent events whose data is JSON, decoded by the service's decoder.
    ///
    /// - Parameter names: The types of the events that are elements; others are ignored. `nil`, the default, is all types.
    /// - Returns: The strategy.
    public static func jsonEvents(named names: Set<String>? = nil) -> Self {
        let format = StreamFormat<Element>.events { event, service throws(APIError) in
            guard names?.contains(event.event) != false else { return nil }
            return try service.element(in: Data(event.data.utf8), "the data of an event") as Element
        }
        return Self(format: format)
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
        let format = StreamFormat<Element>.events { event, service throws(APIError) in
            try APIError.mapped(to: .decoding, reason: "an event could not be read") {
                try transform(event, service.customDecoder ?? service.decoder)
            }
        }
        return Self(format: format)
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
    fileprivate func element<Value: Decodable>(in data: Data, _ position: String) throws(APIError) -> Value {
        do {
            if let customDecoder { return try customDecoder.decode(Value.self, from: data) }
            return try JSONDocument.decode(data, with: decoder) { try $0.singleValueContainer().decode(Value.self) }
        } catch {
            throw APIError(.decoding, reason: "\(position) is no \(Value.self)", underlying: error)
        }
    }
}

/// Reads the elements of one load; used by one task at a time.
struct StreamReader<Element: Sendable> {
    private let strategy: StreamStrategy<Element>
    private let service: APIService
    /// A line ends with LF or CRLF, the last one also without.
    private var lines = LineSplitter(endsAtReturns: false)
    var parser: ServerSentEventParser

    init(_ strategy: StreamStrategy<Element>, for service: APIService) {
        (self.strategy, self.service) = (strategy, service)
        parser = ServerSentEventParser(limit: strategy.elementBytes)
    }

    /// Appends the elements before an error as well; `isLast` is for the end of a response that is complete.
    mutating func read(
        _ bytes: UnsafeRawBufferPointer,
        isLast: Bool = false,
        into elements: inout [Element]
    ) throws(APIError) {
        switch strategy.format {
        case .bytes(let element): if !bytes.isEmpty { elements.append(element(Data(bytes))) }
        case .events(let element):
            try parser.parse(bytes) { [service] event throws(APIError) in
                if let element = try element(event, service) { elements.append(element) }
            }
        case .lines(let element):
            try lines.split(bytes, isLast: isLast) { [strategy, service] line, number throws(APIError) in
                var text = try strategy.text(of: line, number)
                if number == 1, text.starts(with: UTF8.byteOrderMark) { text = text.dropping(UTF8.byteOrderMark.count) }
                if let element = try element(text, number, service) { elements.append(element) }
            }
            _ = try lines.rest.withBytes { [strategy, number = lines.count + 1] rest throws(APIError) in
                try strategy.text(of: rest, number)
            }
        }
    }
}

extension StreamStrategy {
    /// Throws if the line is too large; its end does not count.
    fileprivate func text(of line: UnsafeRawBufferPointer, _ number: Int) throws(APIError) -> UnsafeRawBufferPointer {
        let count = line.last == UInt8(ascii: "\r") ? line.count - 1 : line.count
        guard count > elementBytes else { return UnsafeRawBufferPointer(rebasing: line[..<count]) }
        throw APIError(.responseTooLarge, reason: "line \(number) is larger than \(elementBytes) bytes")
    }
}

/// Splits a text into lines as it arrives, wherever it is cut.
struct LineSplitter {
    typealias Receiver = (UnsafeRawBufferPointer, _ number: Int) throws(APIError) -> Void

    private static let (lineFeed, carriageReturn) = (UInt8(ascii: "\n"), UInt8(ascii: "\r"))

    /// Whether CR ends a line as well, with the LF that may follow, and not only LF.
    let endsAtReturns: Bool
    /// The beginning of a line whose end has not arrived.
    private(set) var rest: [UInt8] = []
    /// The number of the newest complete line.
    private(set) var count = 0
    /// The line feed that may follow ends the same line.
    private var hasReturned = false

    init(endsAtReturns: Bool) { self.endsAtReturns = endsAtReturns }

    /// Calls `body` with each line that is complete, and its number; if `isLast`, also with a last line without an end.
    mutating func split(_ bytes: UnsafeRawBufferPointer, isLast: Bool = false, _ body: Receiver) throws(APIError) {
        var bytes = bytes
        while !bytes.isEmpty {
            let feed = bytes.firstIndex(of: Self.lineFeed)
            var part = UnsafeRawBufferPointer(rebasing: bytes[..<(feed ?? bytes.count)])
            bytes = bytes.dropping(min(part.count + 1, bytes.count))
            while endsAtReturns, let index = part.firstIndex(of: Self.carriageReturn) {
                try end(UnsafeRawBufferPointer(rebasing: part[..<index]), body)
                (part, hasReturned) = (part.dropping(index + 1), true)
            }
            if !part.isEmpty { hasReturned = false }
            if feed == nil { rest += part } else if !exchange(&hasReturned, with: false) { try end(part, body) }
        }
        if isLast, !rest.isEmpty { try end(bytes, body) }
    }

    private mutating func end(_ part: UnsafeRawBufferPointer, _ body: Receiver) throws(APIError) {
        guard rest.isEmpty else {
            rest += part
            return try exchange(&rest, with: []).withBytes { line throws(APIError) in try end(line, body) }
        }
        count += 1
        try body(part, count)
    }
}
