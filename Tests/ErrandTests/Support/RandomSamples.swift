import FixtureServer
import Foundation

@testable import Errand

/// Random numbers that are reproducible from a seed (SplitMix64).
struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// Random JSON texts with their values, reproducible from a seed.
struct JSONSample {
    let text: String
    let value: JSONValue

    var data: Data { Data(text.utf8) }

    /// Returns a text of random shape, with at most `depth` nested containers.
    static func sample(depth: Int, using random: inout SplitMix) -> JSONSample {
        let kind = Int.random(in: 0..<(depth > 0 ? 10 : 6), using: &random)
        return switch kind {
        case 0: scalar(using: &random)
        case 1, 2: number(using: &random)
        case 3...5: string(using: &random)
        case 6, 7:
            array((0..<Int.random(in: 0...6, using: &random)).map { _ in sample(depth: depth - 1, using: &random) })
        default: object(depth, using: &random)
        }
    }

    /// Returns `inner` inside `depth` nested arrays and objects.
    static func nested(_ inner: JSONSample, depth: Int, using random: inout SplitMix) -> JSONSample {
        (0..<depth).reduce(inner) { inner, _ in
            guard Bool.random(using: &random) else { return array([inner]) }
            return JSONSample(text: #"{"a":\#(inner.text)}"#, value: .object(["a": inner.value]))
        }
    }

    static func array(_ elements: [JSONSample]) -> JSONSample {
        JSONSample(
            text: "[" + elements.map(\.text).joined(separator: ",\n") + "]",
            value: .array(elements.map(\.value))
        )
    }

    private static func object(_ depth: Int, using random: inout SplitMix) -> JSONSample {
        var (texts, members) = ([String](), [String: JSONValue]())
        for _ in 0..<Int.random(in: 0...6, using: &random) {
            let (name, member) = (string(using: &random), sample(depth: depth - 1, using: &random))
            texts.append("\(name.text) : \(member.text)")
            if let name = name.value.string, members[name] == nil { members[name] = member.value }
        }
        return JSONSample(text: "{ " + texts.joined(separator: ",") + "}", value: .object(members))
    }

    private static func scalar(using random: inout SplitMix) -> JSONSample {
        let scalars: [(String, JSONValue)] = [("null", .null), ("true", .bool(true)), ("false", .bool(false))]
        let (text, value) = scalars[Int.random(in: 0..<3, using: &random)]
        return JSONSample(text: text, value: value)
    }

    private static func number(using random: inout SplitMix) -> JSONSample {
        let bits = UInt64.random(in: .min ... .max, using: &random)
        let whole = Int64(bitPattern: bits) >> Int64.random(in: 0..<64, using: &random)
        switch Int.random(in: 0..<5, using: &random) {
        case 0: return JSONSample(text: "\(whole)", value: .int(whole))
        case 1: return JSONSample(text: "\(whole >> 12).0e0", value: .int(whole >> 12))
        case 2: return JSONSample(text: "\(bits | 1 << 63)", value: .decimal(Decimal(bits | 1 << 63)))
        case 3: return JSONSample(text: "\(bits | 1).0000000000000001", value: tiny(above: bits | 1))
        default: return double(Double(bitPattern: bits))
        }
    }

    private static func tiny(above whole: UInt64) -> JSONValue {
        .decimal(Decimal(whole) + Decimal(sign: .plus, exponent: -16, significand: 1))
    }

    private static func double(_ value: Double) -> JSONSample {
        guard value.isFinite, abs(value) < 1e300, abs(value) > 1e-300, value != value.rounded() || abs(value) > 1e19
        else {
            return JSONSample(text: "0.5", value: .double(0.5))
        }
        return JSONSample(text: "\(value)", value: .double(value))
    }

    private static func string(using random: inout SplitMix) -> JSONSample {
        let pieces = [
            ("a", "a"), ("茶", "茶"), (#"\n"#, "\n"), (#"\""#, "\""), (#"\\"#, "\\"), (#"\u00e9"#, "\u{E9}"), ("🍏", "🍏"),
            (#"\uD83C\uDF4F"#, "🍏"), ("\u{7F}", "\u{7F}"), (#"\u0000"#, "\u{0}"), (#"\/"#, "/"), ("[", "["), ("}", "}"),
        ]
        let chosen = (0..<Int.random(in: 0...8, using: &random)).map { _ in
            pieces[Int.random(in: 0..<pieces.count, using: &random)]
        }
        return JSONSample(text: "\"\(chosen.map(\.0).joined())\"", value: .string(chosen.map(\.1).joined()))
    }
}

#if os(Linux)
/// A generated body in generated codings, and the result that a client must have.
struct EncodedBodySample: CustomStringConvertible {
    /// A client may refuse `manyMembers` empty members, and must accept `someMembers`.
    private static let manyMembers = 100_000
    private static let someMembers = 5_000

    let content: [UInt8]
    /// The encoded bytes.
    private(set) var bytes: [UInt8]
    /// The codings in the order of `Content-Encoding`.
    private(set) var codings: [ContentCoding] = []
    let limit: Int
    private var hasManyMembers = false

    init(_ random: inout SplitMix) {
        content = Self.content(&random)
        bytes = content
        limit = content.isEmpty || Int.random(in: 0..<4, using: &random) > 0 ? 32 << 20 : content.count - 1
        for _ in 0..<Int.random(in: 1...4, using: &random) { add(&random) }
    }

    /// The permitted endings of the load; `nil` is success with the content.
    var endings: [TransportError.Kind?] {
        if codings.count > 2 { return [.badResponse] }
        if hasManyMembers { return [.badResponse, .responseTooLarge] }
        return [content.count > limit ? .responseTooLarge : nil]
    }

    var description: String { "\(content.count) bytes in \(codings), limit \(limit), to \(bytes.count)" }

    private static func content(_ random: inout SplitMix) -> [UInt8] {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: []
        case 1: Array("hello, layers. ".utf8)
        case 2: [UInt8](repeating: 0, count: 3_000_000)
        default: (0..<10_000).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        }
    }

    private mutating func add(_ random: inout SplitMix) {
        let coding = ContentCoding.allCases.randomElement(using: &random) ?? .gzip
        codings.append(bytes.isEmpty || bytes.count > 60_000 ? .gzip : coding)
        switch codings[codings.count - 1] {
        case .gzip: bytes = gzip(&random)
        case .deflate: bytes = Zlib.deflate(bytes)
        case .brotli: bytes = StoredCoding.brotli(bytes)
        case .zstd: bytes = StoredCoding.zstd(bytes)
        }
    }

    /// Returns the bytes as one or several members, after empty ones.
    private mutating func gzip(_ random: inout SplitMix) -> [UInt8] {
        let counts = [0, 0, 1, Self.someMembers, Self.manyMembers]
        let count = counts.randomElement(using: &random) ?? 0
        if count == Self.manyMembers { hasManyMembers = true }
        let cut = Int.random(in: 0...bytes.count, using: &random)
        let members = Zlib.gzip(Array(bytes[..<cut])) + Zlib.gzip(Array(bytes[cut...]))
        return Zlib.emptyMembers(count) + members
    }
}

/// The uncompressed forms of codings.
enum StoredCoding {
    /// Brotli (RFC 7932) of 1 to 65,536 bytes.
    static func brotli(_ bytes: [UInt8]) -> [UInt8] {
        littleEndian(UInt32(bytes.count - 1) << 4 | 1 << 20, bytes: 3) + bytes + [3]
    }

    /// Zstandard (RFC 8878) of up to 131,072 bytes.
    static func zstd(_ bytes: [UInt8]) -> [UInt8] {
        let count = UInt32(bytes.count)
        let header: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD, 0xA0]
        return header + littleEndian(count, bytes: 4) + littleEndian(count << 3 | 1, bytes: 3) + bytes
    }

    private static func littleEndian(_ number: UInt32, bytes: Int) -> [UInt8] {
        (0..<bytes).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
}
#endif

#if os(Linux)
/// Compression with the zlib that libcurl has loaded into the process.
enum Zlib {
    private typealias Compress =
        @convention(c) (UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<UInt>, UnsafePointer<UInt8>, UInt, Int32) ->
        Int32
    private typealias Checksum = @convention(c) (UInt, UnsafePointer<UInt8>, UInt32) -> UInt

    private static let compress = unsafeBitCast(symbol("compress2"), to: Compress.self)
    private static let checksum = unsafeBitCast(symbol("crc32"), to: Checksum.self)
    private static let memberHeader: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]

    private static func symbol(_ name: String) -> UnsafeMutableRawPointer? {
        dlsym(dlopen("libz.so.1", RTLD_NOW), name)
    }

    /// Returns bytes in the coding that HTTP calls deflate (RFC 1950).
    static func deflate(_ bytes: [UInt8]) -> [UInt8] {
        let capacity = bytes.count + bytes.count / 1_000 + 100
        return [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
            var length = UInt(capacity)
            let result = compress(buffer.baseAddress, &length, bytes, UInt(bytes.count), 9)
            precondition(result == 0, "zlib does not compress")
            count = Int(length)
        }
    }

    /// Returns bytes as one member of gzip (RFC 1952).
    static func gzip(_ bytes: [UInt8]) -> [UInt8] {
        let numbers = [UInt32(truncatingIfNeeded: checksum(0, bytes, UInt32(bytes.count))), UInt32(bytes.count)]
        let trailer = numbers.flatMap { number in withUnsafeBytes(of: number.littleEndian) { Array($0) } }
        return memberHeader + deflate(bytes).dropFirst(2).dropLast(4) + trailer
    }

    /// Returns `count` members of gzip without content.
    static func emptyMembers(_ count: Int) -> [UInt8] {
        let member = gzip([])
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count * member.count)
        for _ in 0..<count { bytes += member }
        return bytes
    }
}
#endif

extension Data {
    /// Returns bytes that count from `first` on, modulo 256, as those of ``FixtureServer`` do.
    ///
    /// They are copied, because an unoptimized build makes one byte at a time slowly.
    static func counting(_ count: Int, from first: UInt8 = 0) -> Data {
        let period = Data((0...255).map { first &+ $0 })
        var bytes = Data(capacity: count)
        while bytes.count < count { bytes += period.prefix(count - bytes.count) }
        return bytes
    }
}
