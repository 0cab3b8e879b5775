import Errand
import Foundation

/// A hash function of the platform's cryptographic library.
package enum Digest: Sendable, CaseIterable {
    /// MD5 (RFC 1321), which older servers expect in signatures; not for anything new.
    case md5
    /// SHA-1 (FIPS 180-4), which older servers expect in signatures; not for anything new.
    case sha1
    /// SHA-256 (FIPS 180-4).
    case sha256
    /// SHA-512 (FIPS 180-4).
    case sha512

    var count: Int {
        switch self {
        case .md5: 16
        case .sha1: 20
        case .sha256: 32
        case .sha512: 64
        }
    }

    /// Returns the digest of `data`.
    ///
    /// - Throws: `libraryUnavailable` where the platform does not have the function.
    package func hash(of data: some ContiguousBytes) throws(SigningError) -> [UInt8] {
        var hash = try PlatformCrypto.RunningHash(self)
        try hash.add(data)
        return try hash.finish()
    }
}

extension PlatformCrypto.RunningHash {
    private static let chunkSize = 256 << 10

    /// Adds a file from its current offset on.
    mutating func add(_ file: borrowing FileDescriptor) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.chunkSize, alignment: 1)
        defer { buffer.deallocate() }
        while true {
            try Task.checkCancellation()
            let count = try file.fill(buffer)
            guard count > 0 else { return }
            try add(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }
}
