#if os(Linux)
import Foundation

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
