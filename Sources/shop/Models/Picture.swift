import Foundation

/// A picture for an avatar: a red and blue gradient as a Windows bitmap.
enum Picture {
    private static let side: UInt32 = 512
    private static let headerBytes: UInt32 = 54

    /// The bytes of the file.
    static func bitmap() -> Data {
        var file = Data("BM".utf8)
        let pixelBytes = side * side * 3
        file.append(words: headerBytes + pixelBytes, 0, headerBytes)
        // The information header: its size, width, height, one plane of 24 bits, uncompressed, the rest unset.
        file.append(words: 40, side, side, 1 | 24 << 16, 0, pixelBytes, 0, 0, 0, 0)
        for row in 0..<side {
            for column in 0..<side { file.append(contentsOf: [UInt8(column / 2), 0, UInt8(row / 2)]) }
        }
        return file
    }
}

extension Data {
    fileprivate mutating func append(words: UInt32...) {
        for word in words { Swift.withUnsafeBytes(of: word.littleEndian) { append(contentsOf: $0) } }
    }
}
