import Foundation

@testable import ErrandSigning

/// Conformance data outside the package; tests that need a missing folder are skipped.
enum SharedData: String {
    case wycheproof
    case sigv4

    var folder: URL {
        URL(filePath: #filePath).appending(path: "../../../../../shared/data/\(rawValue)").standardizedFileURL
    }

    var exists: Bool { FileManager.default.fileExists(atPath: folder.path(percentEncoded: false)) }

    func bytes(_ path: String) throws -> Data { try Data(contentsOf: folder.appending(path: path)) }

    func json<Value: Decodable>(_ path: String, as type: Value.Type = Value.self) throws -> Value {
        try JSONDecoder().decode(type, from: bytes(path))
    }
}

extension Data {
    /// Creates the bytes that hexadecimal digits describe; spaces and line ends are ignored.
    init(hexadecimal text: String) {
        let digits = text.compactMap(\.hexDigitValue)
        let bytes: [UInt8] = stride(from: 0, to: digits.count, by: 2).map { index in
            UInt8(digits[index]) << 4 | UInt8(digits[index + 1])
        }
        self.init(bytes)
    }
}

extension Data {
    /// Returns random bytes.
    static func random(count: Int) -> Data { Data([UInt8].random(count: count)) }
}
