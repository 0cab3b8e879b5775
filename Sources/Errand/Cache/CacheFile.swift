import Foundation

/// The body of a stored response: short ones are in the file of the response, other ones have a file of their own.
final class CacheBody: Sendable {
    /// `nil` for a short one.
    let fileName: String?
    let length: Int64
    let checksum: UInt64
    /// Those of a short one.
    let bytes: Data
    /// Of a file that is to be read: it can be although it is removed meanwhile.
    private let descriptor: FileDescriptor?

    init(_ bytes: Data) {
        (fileName, length, self.bytes) = (nil, Int64(bytes.count), bytes)
        checksum = bytes.checksum
        descriptor = nil
    }

    init(file name: String, length: Int64, checksum: UInt64, _ descriptor: consuming FileDescriptor? = nil) {
        (fileName, self.length, self.checksum, bytes) = (name, length, checksum, Data())
        self.descriptor = descriptor
    }

    /// `nil` if it is not what was stored.
    func data() -> Data? {
        guard fileName != nil else { return bytes }
        var data = Data(capacity: Int(length))
        return copy { data.append(contentsOf: $0) } ? data : nil
    }

    /// Returns whether everything that was stored in a file of its own has been copied.
    func copy<Failure: Error>(to write: (UnsafeRawBufferPointer) throws(Failure) -> Void) throws(Failure) -> Bool {
        var (offset, checksum) = (Int64(0), Checksum())
        let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
        defer { chunk.deallocate() }
        while offset < length {
            guard let count = try? descriptor?.fill(chunk, at: offset), count > 0 else { return false }
            let bytes = UnsafeRawBufferPointer(rebasing: chunk[..<count])
            checksum.add(bytes)
            try write(bytes)
            offset += Int64(count)
        }
        return offset == length && checksum.value == self.checksum
    }
}

/// The file of one stored response: a head with a checksum, and a short body.
///
/// All numbers are little-endian. Its first bytes name the version of the format; a file of any other is not read.
struct CacheFile {
    private static let magic = Array("errand 1".utf8)
    /// In bytes; longer bodies have a file of their own.
    static let longestInlineBody = 64 << 10

    let stored: StoredResponse
    let key: [UInt8]
    let body: CacheBody
    /// Whether it was looked for; otherwise its body was not read.
    private(set) var isWanted = true

    init(_ stored: StoredResponse, key: CacheKey, body: CacheBody) {
        (self.stored, self.key, self.body) = (stored, key.bytes, body)
    }

    // MARK: Writing

    var bytes: [UInt8] {
        var head = Writer()
        head.write(key)
        head.write(UInt64(stored.status) << 1 | (stored.isAdapted ? 1 : 0))
        head.write(stored.requestDate.timeIntervalSinceReferenceDate.bitPattern)
        head.write(stored.responseDate.timeIntervalSinceReferenceDate.bitPattern)
        head.write(Array(stored.url.absoluteString.utf8))
        head.write(UInt64(stored.selection.lines.count))
        for line in stored.selection.lines {
            head.write(Array(line.name.utf8))
            head.write(line.value.map { [1] + Array($0.utf8) } ?? [])
        }
        head.write(UInt64(stored.headers.count))
        for field in stored.headers {
            head.write(Array(field.name.utf8))
            head.write(field.bytes)
        }
        head.write(Array((body.fileName ?? "").utf8))
        head.write(UInt64(body.length))
        head.write(body.checksum)
        var file = Writer()
        file.bytes = Self.magic
        file.write(head.bytes.checksum)
        file.write(head.bytes)
        return file.bytes + body.bytes
    }

    private struct Writer {
        var bytes: [UInt8] = []

        mutating func write(_ number: UInt64) { withUnsafeBytes(of: number.littleEndian) { bytes += $0 } }
        mutating func write(_ text: [UInt8]) {
            write(UInt64(text.count))
            bytes += text
        }
    }

    // MARK: Reading

    /// `nil` unless the file is whole, and of this version; `key` may have its URL.
    init?(
        _ bytes: UnsafeRawBufferPointer,
        for expected: CacheKey? = nil,
        where isWanted: (StoredResponse) -> Bool = { _ in true }
    ) {
        var file = Reader(rest: bytes)
        guard file.take(8).map({ Array($0) == Self.magic }) == true, let checksum = file.number(),
            let head = file.part(), Checksum(of: head).value == checksum
        else { return nil }
        var reader = Reader(rest: head)
        guard let key = reader.part(), let status = reader.number(), let requested = reader.number(),
            let received = reader.number(), let url = reader.url(expected),
            let selection = reader.lines(CacheSelection.Line.init),
            let headers = reader.lines({ HTTPField($0, bytes: $1) }), let name = reader.text(),
            let length = reader.number(), let sum = reader.number()
        else { return nil }
        self.key = Array(key)
        stored = StoredResponse(
            status: Int(status >> 1),
            headers: HTTPHeaders(headers),
            url: url,
            selection: CacheSelection(lines: selection),
            requestDate: Date(timeIntervalSinceReferenceDate: Double(bitPattern: requested)),
            responseDate: Date(timeIntervalSinceReferenceDate: Double(bitPattern: received)),
            isAdapted: status & 1 == 1,
            bodyLength: Int64(clamping: length)
        )
        self.isWanted = isWanted(stored)
        guard self.isWanted else {
            body = CacheBody(Data())
            return
        }
        guard name.isEmpty else {
            body = CacheBody(file: name, length: Int64(clamping: length), checksum: sum)
            return
        }
        guard let inline = file.take(length), file.rest.isEmpty else { return nil }
        body = CacheBody(Data(inline))
        guard body.checksum == sum else { return nil }
    }

    private struct Reader {
        private(set) var rest: UnsafeRawBufferPointer

        mutating func take(_ count: UInt64) -> UnsafeRawBufferPointer? {
            guard count <= rest.count else { return nil }
            defer { rest = rest.dropping(Int(count)) }
            return UnsafeRawBufferPointer(rebasing: rest[..<Int(count)])
        }
        mutating func number() -> UInt64? { take(8).map { UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) } }
        mutating func part() -> UnsafeRawBufferPointer? { number().flatMap { take($0) } }
        mutating func text() -> String? { part().map { String(decoding: $0, as: UTF8.self) } }

        /// To parse one takes longer than the rest.
        mutating func url(_ key: CacheKey?) -> URL? {
            guard let text = text() else { return nil }
            return key?.url.absoluteString == text ? key?.url : URL(string: text)
        }

        mutating func lines<Line>(_ make: (String, UnsafeRawBufferPointer) -> Line) -> [Line]? {
            guard let count = number() else { return nil }
            var lines: [Line] = []
            for _ in 0..<count {
                guard let name = text(), let value = part() else { return nil }
                lines.append(make(name, value))
            }
            return lines
        }
    }
}

extension CacheSelection.Line {
    fileprivate init(_ name: String, _ stored: UnsafeRawBufferPointer) {
        let value = stored.isEmpty ? nil : String(decoding: stored.dropping(1), as: UTF8.self)
        self.init(name: name, value: value)
    }
}

/// What is to be stored of a body.
enum CacheContent {
    case data(Data)
    /// The file of a download that has not got its place yet.
    case file(URL)

    /// Each chunk but the last one has a multiple of 8 bytes.
    func forEachChunk(
        _ body: (UnsafeRawBufferPointer) throws(SystemError) -> Void
    ) throws(SystemError) {
        switch self {
        case .data(let data):
            try data.withBytes(body)
        case .file(let url):
            let file = try FileDescriptor(opening: url.path, O_RDONLY | O_NOFOLLOW)
            var offset: Int64 = 0
            let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
            defer { chunk.deallocate() }
            while true {
                let count = try file.fill(chunk, at: offset)
                guard count > 0 else { return }
                try body(UnsafeRawBufferPointer(rebasing: chunk[..<count]))
                offset += Int64(count)
            }
        }
    }
}
