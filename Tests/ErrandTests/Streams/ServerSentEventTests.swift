import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Server-sent events", .timeLimit(.minutes(10)))
struct ServerSentEventTests {
    typealias Event = ServerSentEvent

    /// The events of a stream, which arrives in these parts.
    private func events<Part: Collection<UInt8>>(_ parts: [Part], limit: Int = 1 << 20) throws -> [Event] {
        var parser = ServerSentEventParser(limit: limit)
        var events: [Event] = []
        for part in parts {
            try Array(part).withUnsafeBytes { bytes in
                Result { () throws(APIError) in try parser.parse(bytes) { events.append($0) } }
            }.get()
        }
        return events
    }

    // MARK: Web platform tests

    /// A case of the suite: where its bytes are, and the events that its script asserts.
    struct PlatformCase: Sendable, CustomTestStringConvertible {
        let file: String
        var bytes: String?
        let events: [Event]

        var testDescription: String { file }

        init(_ file: String, _ bytes: String? = nil, _ data: String...) {
            self.init(file, bytes, events: data.map { Event(data: $0) })
        }

        init(_ file: String, _ bytes: String? = nil, events: [Event]) {
            (self.file, self.bytes, self.events) = (file, bytes, events)
        }

        /// The bytes that the server of the suite sends, read from its files.
        func stream() throws -> [UInt8] {
            let text = try String(contentsOf: SharedData.eventSource.folder.appending(path: file), encoding: .utf8)
            if let bytes {
                // What the server's script or the test's script says; it must be there.
                let source = try #require(text.contains(bytes) ? bytes : nil)
                let unescaped = source.replacing("\\n", with: "\n").replacing("\\r", with: "\r").replacing(
                    "\\0",
                    with: "\0"
                )
                return Array(unescaped.utf8)
            }
            let query = try #require(text.firstMatch(of: /message\.py\?[^"]*message=([^"&]*)(&newline=none)?"/))
            // Not by Foundation, which drops a byte order mark.
            var (message, rest) = ([UInt8](), Array(query.1.utf8)[...])
            while let first = rest.popFirst() {
                guard first == UInt8(ascii: "%") else {
                    message.append(first)
                    continue
                }
                message.append(try #require(UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)))
                rest = rest.dropFirst(2)
            }
            return message + Array((query.2 == nil ? "\n\n\n" : "\n").utf8)
        }
    }

    private static let persistent = [("1", "1"), ("2", "1"), ("3", "2"), ("4", "2")].map { Event(data: $0, id: $1) }
    private static let reset = [("1", "1"), ("2", ""), ("3", "")].map { Event(data: $0, id: $1) }

    static let platformCases = [
        PlatformCase("format-bom.any.js", nil, "1", "3"),
        PlatformCase("format-bom-2.any.js", nil, "2", "3"),
        PlatformCase("format-field-data.any.js", nil, "", "\n", "test"),
        PlatformCase("format-field-event-empty.any.js", nil, "data"),
        PlatformCase("format-field-event.any.js", events: [Event(event: "test", data: "x"), Event(data: "x")]),
        PlatformCase("format-field-retry-bogus.any.js", nil, "x"),
        PlatformCase("format-field-retry-empty.any.js", nil, "test"),
        PlatformCase("format-field-unknown.any.js", nil, "test\n\ntest"),
        PlatformCase("format-leading-space.any.js", nil, "\ttest\n\ntest"),
        PlatformCase("format-newlines.any.js", nil, "test\n\ntest"),
        PlatformCase("format-null-character.any.js", nil, "\0"),
        PlatformCase("format-utf-8.any.js", nil, "ok…"),
        PlatformCase(
            "format-field-parsing.any.js",
            #"data:\0\ndata:  2\rData:1\ndata\0:2\ndata:1\r\0data:4\nda-ta:3\rdata_5\ndata:3\rdata:\r\n data:32\ndata:4\n"#,
            events: []
        ),
        PlatformCase(
            "resources/last-event-id2.py",
            #"id: 1\ndata: 1\n\ndata: 2\n\nid: 2\ndata:3\n\ndata:4\n\n"#,
            events: persistent
        ),
        PlatformCase("resources/last-event-id2.py", #"id: 1\ndata: 1\n\nid:\ndata:2\n\ndata:3\n\n"#, events: reset),
        PlatformCase("resources/last-event-id2.py", #"id: 1\ndata: 1\n\nid\ndata:2\n\ndata:3\n\n"#, events: reset),
    ]

    @Test(
        .fault(120),
        .enabled(if: SharedData.eventSource.exists, "the web platform tests are not here"),
        arguments: platformCases
    )
    func `A stream of the web platform tests gives its events, wherever it is cut`(_ example: PlatformCase) throws {
        let bytes = try example.stream()
        var expected = example.events
        if example.file == "format-field-parsing.any.js" {
            #expect(try events([bytes + Array("\n".utf8)]) == [Event(data: "\0\n 2\n1\n3\n\n4")])
            expected = []
        }
        try expect(expected, of: bytes)
    }

    /// Cuts a stream at every byte, and at every pair of bytes that are not the filling of a long line.
    private func expect(_ expected: [Event], of bytes: [UInt8], filling: UInt8? = nil) throws {
        #expect(try events([bytes]) == expected)
        for first in bytes.indices {
            #expect(try events([bytes[..<first], bytes[first...]]) == expected)
            guard bytes[first] != filling else { continue }
            for second in first..<bytes.count where bytes[second] != filling {
                #expect(try events([bytes[..<first], bytes[first..<second], bytes[second...]]) == expected)
            }
        }
        #expect(try events(bytes.map { [$0] }) == expected)
    }

    @Test(.enabled(if: SharedData.eventSource.exists, "the web platform tests are not here"))
    func `Every file of the suite about formats is a case here or in the tests of a stream`() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: SharedData.eventSource.folder.path)
        let formats = names.filter { $0.hasPrefix("format-") }
        // Their bytes are made by scripts, or they are about the content type, the ID of a reconnection and its delay.
        let elsewhere = [
            "format-comments.any.js", "format-data-before-final-empty-line.any.js", "format-field-id-2.any.js",
            "format-field-id-3.window.js", "format-field-id-null.window.js", "format-field-id.any.js",
            "format-field-retry.any.js", "format-mime-bogus.any.js", "format-mime-trailing-semicolon.any.js",
            "format-mime-valid-bogus.any.js",
        ]
        #expect(Set(formats) == Set(Self.platformCases.map(\.file).filter { $0.hasPrefix("format-") } + elsewhere))
    }

    @Test func `Comments are ignored, also long ones, and so is an event without its empty line`() throws {
        // format-comments and format-data-before-final-empty-line.
        let comment = String(repeating: "x", count: 2_048)
        let stream = "data:1\r:\0\n:\r\ndata:2\n:\(comment)\rdata:3\n:data:fail\r:\(comment)\ndata:4\n\n"
        try expect([Event(data: "1\n2\n3\n4")], of: Array(stream.utf8), filling: UInt8(ascii: "x"))
        try expect([Event(data: "test1")], of: Array("retry:1000\ndata:test1\n\nid:test\ndata:test2".utf8))
    }

    @Test(arguments: ["\0\0", "x\0", "\0x", "x\0x", " \0"]) func `An ID with a null is ignored`(_ id: String) throws {
        try expect([Event(data: "hello")], of: Array("id: \(id)\ndata: hello\n\n".utf8))
    }

    @Test(arguments: [
        ("retry:03000", 3_000), ("retry: 200", 200), ("retry:3000\nretry:1000x", 3_000), ("retry", nil),
        ("retry:-1", nil),
        ("retry:99999999999999", Int(Int32.max)),
    ]) func `The reconnection time is digits alone`(_ stream: String, _ milliseconds: Int?) throws {
        var parser = ServerSentEventParser(limit: 100)
        try Array("\(stream)\n\n".utf8).withUnsafeBytes { try parser.parse($0) { _ in } }
        #expect(parser.reconnectionTime == milliseconds.map { .milliseconds($0) })
    }

    // MARK: Any bytes

    /// Reads a whole stream as the standard describes it, line by line.
    private func reference(_ bytes: [UInt8]) -> [Event] {
        var bytes = bytes[...]
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes = bytes.dropFirst(3) }
        var (lines, line, index) = ([[UInt8]](), [UInt8](), bytes.startIndex)
        while index < bytes.endIndex {
            if bytes[index] == 13 || bytes[index] == 10 {
                if bytes[index] == 13, index + 1 < bytes.endIndex, bytes[index + 1] == 10 { index += 1 }
                lines.append(line)
                line = []
            } else {
                line.append(bytes[index])
            }
            index += 1
        }
        var (events, data, type, id, newID) = ([Event](), [UInt8](), "", "", String?.none)
        for line in lines {
            if line.isEmpty {
                id = newID ?? id
                if !data.isEmpty {
                    let text = String(decoding: data.dropLast(), as: UTF8.self)
                    events.append(Event(event: type.isEmpty ? "message" : type, data: text, id: id))
                }
                (data, type) = ([], "")
                continue
            }
            let parts = line.split(separator: 58, maxSplits: 1, omittingEmptySubsequences: false)
            var value = parts.count > 1 ? parts[1] : []
            if value.first == 32 { value = value.dropFirst() }
            switch String(decoding: parts[0], as: UTF8.self) {
            case "data": data += value + [10]
            case "event": type = String(decoding: value, as: UTF8.self)
            case "id": if !value.contains(0) { newID = String(decoding: value, as: UTF8.self) }
            default: break
            }
        }
        return events
    }

    @Test func `Random bytes, cut anywhere, give the events of the standard`() throws {
        var random = SplitMix(seed: 9_206)
        let pieces =
            [
                "data", "data:", "data: ", "event:", "id:", "id", "retry:", ":", "\n", "\n\n", "\r", "\r\n", "\r\n\r\n",
                "\0", "x",
                "\u{FEFF}", "…", " ",
            ].map { Array($0.utf8) } + [[0xEF], [0xBB], [0xBF], [0xC3], [0xFF]]
        for _ in 0..<3_000 {
            let count = Int.random(in: 0..<40, using: &random)
            let bytes = (0..<count).flatMap { _ in pieces.randomElement(using: &random) ?? [] }
            let cuts = (0..<4).map { _ in Int.random(in: 0...bytes.count, using: &random) }.sorted()
            let bounds = zip([0] + cuts, cuts + [bytes.count])
            #expect(try events(bounds.map { Array(bytes[$0..<$1]) }) == reference(bytes), "\(bytes)")
        }
    }

    @Test(.fault(123)) func `An event that is too large fails, however its bytes arrive`() throws {
        for stream in ["data: \(String(repeating: "x", count: 100))", String(repeating: "data: 123456\n", count: 20)] {
            #expect(throws: APIError.self) { try events([stream.utf8], limit: 80) }
            #expect(throws: APIError.self) { try events(stream.utf8.map { [$0] }, limit: 80) }
        }
        #expect(try events([String(repeating: "data: 123456\n\n", count: 20).utf8], limit: 80).count == 20)
    }

    @Test(.fault(123), arguments: ["data: ", ":", "event: ", "id: ", "other"])
    func `Whether a line is too large does not depend on where it is cut`(_ start: String) throws {
        for length in 60...70 {
            let line = start + String(repeating: "x", count: length - start.utf8.count)
            let parts = [Array(line.utf8), Array("\n\n".utf8)]
            let isTooLarge = length > 64
            for cuts in [[parts[0] + parts[1]], parts, [parts[0].dropLast() + [], parts[0].suffix(1) + parts[1]]] {
                let isRefused = (try? events(cuts, limit: 64)) == nil
                #expect(isRefused == isTooLarge, "\(length)")
            }
        }
    }
}

@Suite("Lines", .timeLimit(.minutes(10)))
struct LineReaderTests {
    /// The elements are the numbers and the texts of the lines.
    private static func reader(limit: Int) -> StreamReader<String> {
        let format = StreamFormat<String>.lines { line, number, _ in
            "\(number) \(String(decoding: line, as: UTF8.self))"
        }
        var strategy = StreamStrategy(format: format)
        strategy.elementBytes = limit
        return StreamReader(strategy, for: APIService(baseURL: URL("https://shop.test/api")))
    }

    @Test func `Lines are the same wherever they are cut`() throws {
        let bytes = Array("one\ntwo\r\n\n\r\nthr\ree\nlast".utf8)
        for first in 0...bytes.count {
            for second in first...bytes.count {
                var (reader, lines) = (Self.reader(limit: 10), [String]())
                for part in [bytes[..<first], bytes[first..<second], bytes[second...]] {
                    try Array(part).withUnsafeBytes { try reader.read($0, into: &lines) }
                }
                try reader.read(.init(start: nil, count: 0), isLast: true, into: &lines)
                #expect(lines == ["1 one", "2 two", "3 ", "4 ", "5 thr\ree", "6 last"])
            }
        }
    }

    @Test(.fault(123)) func `A line that is too large fails, and names its number`() throws {
        for parts in [["123\n12345"], ["123\n123", "45"], ["123\n12345\n"]] {
            var (reader, lines) = (Self.reader(limit: 4), [String]())
            for part in ["1234\r\n", "1234\r", "\n", "1234", "\r\n", "1234"] {
                try Array(part.utf8).withUnsafeBytes { try reader.read($0, into: &lines) }
            }
            reader = Self.reader(limit: 4)
            let error = #expect(throws: APIError.self) {
                for part in parts { try Array(part.utf8).withUnsafeBytes { try reader.read($0, into: &lines) } }
            }
            #expect(error?.type == .responseTooLarge)
            #expect(error?.reason == "line 2 is larger than 4 bytes")
        }
    }
}
