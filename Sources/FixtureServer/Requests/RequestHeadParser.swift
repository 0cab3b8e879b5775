import Errand
import Foundation

/// A strict parser of complete request heads (RFC 9112 sections 2 to 6).
struct RequestHeadParser {
    private var head: RequestHead
    private var hosts = 0
    private var contentLength: Int64?
    private var isChunked = false

    /// Parses the bytes from the request line to the empty line.
    static func parse(_ bytes: UnsafeRawBufferPointer) throws(MalformedRequest) -> RequestHead {
        var parser = RequestHeadParser(head: RequestHead(bytes: Array(bytes)))
        parser.head.lines.reserveCapacity(16)
        var end = try parser.lineEnd(in: bytes, from: 0)
        try parser.requestLine(bytes, end: end)
        var start = end + 2
        while true {
            end = try parser.lineEnd(in: bytes, from: start)
            guard end > start else { break }
            try parser.headerLine(bytes, start..<end)
            start = end + 2
        }
        return try parser.finish()
    }

    private init(head: RequestHead) {
        self.head = head
    }

    private func lineEnd(in bytes: UnsafeRawBufferPointer, from start: Int) throws(MalformedRequest) -> Int {
        guard let feed = bytes.firstIndex(of: .lineFeed, from: start), feed > start,
            bytes[feed - 1] == .carriageReturn
        else { throw MalformedRequest("a line does not end with CR LF") }
        return feed - 1
    }

    private mutating func requestLine(_ bytes: UnsafeRawBufferPointer, end: Int) throws(MalformedRequest) {
        let methodEnd = bytes.firstIndex(of: .space, from: 0) ?? end
        let targetEnd = bytes.firstIndex(of: .space, from: methodEnd + 1) ?? end
        guard methodEnd > 0, targetEnd > methodEnd + 1, targetEnd < end, bytes[..<methodEnd].allSatisfy(\.isToken),
            bytes[methodEnd + 1..<targetEnd].allSatisfy({ $0 > .space && $0 != 0x7F })
        else { throw MalformedRequest("the request line is not method, target and version") }
        head.methodRange = 0..<methodEnd
        head.targetRange = methodEnd + 1..<targetEnd
        head.pathRange = path(bytes, head.targetRange)
        let version = bytes.slice(targetEnd + 1..<end)
        head.isHTTP10 = version.elementsEqual("HTTP/1.0".utf8)
        head.keepsAlive = !head.isHTTP10
        guard head.isHTTP10 || version.elementsEqual("HTTP/1.1".utf8) else {
            throw MalformedRequest("the version is not HTTP/1.0 or HTTP/1.1", status: 505)
        }
    }

    private func path(_ bytes: UnsafeRawBufferPointer, _ target: Range<Int>) -> Range<Int> {
        let question = bytes.firstIndex(of: UInt8(ascii: "?"), from: target.lowerBound) ?? target.upperBound
        let end = min(question, target.upperBound)
        let slash = UInt8(ascii: "/")
        guard bytes[target.lowerBound] != slash, let colon = bytes[target.lowerBound..<end].firstIndex(of: .colon),
            bytes[colon..<end].starts(with: "://".utf8)
        else { return target.lowerBound..<end }
        return (bytes[colon + 3..<end].firstIndex(of: slash) ?? end)..<end
    }

    private mutating func headerLine(_ bytes: UnsafeRawBufferPointer, _ line: Range<Int>) throws(MalformedRequest) {
        guard let colon = bytes.firstIndex(of: .colon, from: line.lowerBound), colon < line.upperBound,
            colon > line.lowerBound, bytes[line.lowerBound..<colon].allSatisfy(\.isToken)
        else { throw MalformedRequest("a header line has no name, or white space around it") }
        var value = colon + 1..<line.upperBound
        while let first = bytes[value].first, first == .space || first == .tab { value.removeFirst() }
        while let last = bytes[value].last, last == .space || last == .tab { value.removeLast() }
        guard bytes[value].allSatisfy({ $0 != 0 && $0 != .carriageReturn }) else {
            throw MalformedRequest("a header value holds NUL or CR")
        }
        head.lines.append(RequestHead.Line(name: line.lowerBound..<colon, value: value))
        try interpret(bytes.slice(line.lowerBound..<colon), bytes.slice(value))
    }

    private mutating func interpret(
        _ name: UnsafeRawBufferPointer,
        _ value: UnsafeRawBufferPointer
    ) throws(MalformedRequest) {
        switch name.count {
        case 4 where name.isText("host"):
            hosts += 1
        case 6 where name.isText("expect"):
            head.expectsContinue = value.isText("100-continue")
        case 10 where name.isText("connection"):
            connection(value)
        case 14 where name.isText("content-length"):
            try contentLength(value)
        case 17 where name.isText("transfer-encoding"):
            guard value.isText("chunked") else { throw MalformedRequest("unknown transfer coding", status: 501) }
            isChunked = true
        default:
            break
        }
    }

    private mutating func connection(_ value: UnsafeRawBufferPointer) {
        for option in value.split(separator: UInt8(ascii: ",")) {
            let word = option.drop { $0 == .space || $0 == .tab }
            let text = UnsafeRawBufferPointer(rebasing: word)
            if text.isText("close") { head.keepsAlive = false }
            if text.isText("keep-alive"), head.isHTTP10 { head.keepsAlive = true }
        }
    }

    private mutating func contentLength(_ value: UnsafeRawBufferPointer) throws(MalformedRequest) {
        guard let number = value.number(), contentLength == nil || contentLength == number else {
            throw MalformedRequest("Content-Length is not one number")
        }
        contentLength = number
    }

    private consuming func finish() throws(MalformedRequest) -> RequestHead {
        guard hosts == 1 || head.isHTTP10 && hosts == 0 else { throw MalformedRequest("there is not one Host") }
        guard !isChunked || contentLength == nil else {
            throw MalformedRequest("Content-Length beside Transfer-Encoding")
        }
        head.framing = isChunked ? .chunked : .length(contentLength ?? 0)
        return head
    }
}

/// Why a request is not valid HTTP/1.1, and the status of the response.
struct MalformedRequest: Error {
    let status: Int
    let reason: String

    init(_ reason: String, status: Int = 400) {
        self.status = status
        self.reason = reason
    }
}

/// The bytes of HTTP's grammar (RFC 9110 section 5.6).
extension UInt8 {
    static let tab: UInt8 = 0x09
    static let lineFeed: UInt8 = 0x0A
    static let carriageReturn: UInt8 = 0x0D
    static let space: UInt8 = 0x20
    static let colon: UInt8 = 0x3A

    /// Whether the byte may be part of a token.
    var isToken: Bool { Self.tokens[Int(self)] }

    private static let tokens: [Bool] = (0...255).map { code in
        let byte = UInt8(code)
        let punctuation = "!#$%&'*+-.^_`|~".utf8
        return byte < 0x80 && (Character(Unicode.Scalar(byte)).isLetter || Character(Unicode.Scalar(byte)).isNumber)
            || punctuation.contains(byte)
    }
}

extension UnsafeRawBufferPointer {
    /// Returns the bytes of `range` as a buffer with indices from 0.
    func slice(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self[range])
    }

    /// Returns whether these bytes are `text`; ASCII letters match in any case.
    func isText(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        for index in 0..<count where self[index] | 0x20 != text.utf8Start[index] | 0x20 { return false }
        return true
    }

    /// Returns the number that these ASCII digits represent; `nil` for other bytes and for an overflow.
    func number(radix: Int64 = 10) -> Int64? {
        guard !isEmpty, count <= 16 else { return nil }
        var value: Int64 = 0
        for byte in self {
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue.map({ Int64($0) }), digit < radix,
                value <= (Int64.max - digit) / radix
            else { return nil }
            value = value * radix + digit
        }
        return value
    }
}
