#if !canImport(CryptoKit)
import CryptoRuntime
import Foundation

/// The functions of libcrypto, usually the one that the process has loaded for libcurl.
package enum PlatformCrypto {
    private static let library = Result { () throws(SigningError) in try Libcrypto() }

    /// A digest whose input arrives in parts.
    package struct RunningHash: ~Copyable {
        private let library: Libcrypto
        private let state: OpaquePointer
        private let digest: Digest

        package init(_ digest: Digest) throws(SigningError) {
            let library = try PlatformCrypto.library.get()
            var state: OpaquePointer?
            let result = cryptort_hash_start(library.pointer, digest.number, &state)
            guard result == cryptort_success, let state else { throw SigningError(result, of: "\(digest)") }
            (self.library, self.state, self.digest) = (library, state, digest)
        }

        deinit { cryptort_hash_free(library.pointer, state) }

        package mutating func add(_ data: some ContiguousBytes) throws(SigningError) {
            let result = data.withBytes { cryptort_hash_add(library.pointer, state, $0) }
            guard result == cryptort_success else { throw SigningError(result, of: "\(digest)") }
        }

        package mutating func finish() throws(SigningError) -> [UInt8] {
            let hash = try PlatformCrypto.output(count: digest.count, of: "\(digest)") { output in
                cryptort_hash_finish(library.pointer, state, output)
            }
            return Array(hash)
        }
    }

    /// Returns the message authentication code (RFC 2104) of `data`, with a key of any length, 0 included.
    ///
    /// - Throws: `libraryUnavailable` where the platform does not have the function.
    package static func hmacSHA256(of data: some ContiguousBytes, key: [UInt8]) throws(SigningError) -> [UInt8] {
        let library = try library.get()
        let code = try output(count: Digest.sha256.count, of: "HMAC-SHA-256") { output in
            key.withBytes { key in data.withBytes { cryptort_hmac_sha256(library.pointer, key, $0, output) } }
        }
        return Array(code)
    }

    static func seal(
        _ plaintext: Data,
        with cipher: SealingCipher,
        key: Data,
        nonce: Data,
        authenticating associated: Data
    ) throws(SigningError) -> Data {
        let library = try library.get()
        let count = nonce.count + plaintext.count + SealingCipher.tagCount
        return try output(count: count, of: "\(cipher)") { output in
            nonce.copyBytes(to: output, count: nonce.count)
            return withBytes(key, nonce, associated, plaintext) { key, nonce, associated, plaintext in
                let number = cipher.number(keyCount: key.count)
                let start = output + nonce.count
                return cryptort_seal(library.pointer, number, key.start, nonce, associated, plaintext, start)
            }
        }
    }

    static func open(
        _ parts: SealedParts,
        with cipher: SealingCipher,
        key: Data,
        authenticating associated: Data
    ) throws(SigningError) -> Data {
        let library = try library.get()
        return try output(count: parts.ciphertext.count, of: "\(cipher)") { output in
            withBytes(key, parts.nonce, associated, parts.ciphertext) { key, nonce, associated, ciphertext in
                parts.tag.withBytes { tag in
                    let number = cipher.number(keyCount: key.count)
                    return cryptort_open(
                        library.pointer,
                        number,
                        key.start,
                        nonce,
                        associated,
                        ciphertext,
                        tag.start,
                        output
                    )
                }
            }
        }
    }

    /// Returns the bytes that `write` has written.
    private static func output(
        count: Int,
        of algorithm: @autoclosure () -> String,
        write: (UnsafeMutablePointer<UInt8>) -> cryptort_result
    ) throws(SigningError) -> Data {
        // An address is needed even for no bytes.
        var output = Data(count: Swift.max(count, 1))
        let result = output.withUnsafeMutableBytes { buffer in
            write(buffer.assumingMemoryBound(to: UInt8.self).baseAddress.unsafelyUnwrapped)
        }
        guard result == cryptort_success else { throw SigningError(result, of: algorithm()) }
        return count == 0 ? Data() : output
    }

    private static func withBytes(
        _ key: Data,
        _ nonce: Data,
        _ associated: Data,
        _ input: Data,
        _ body: (cryptort_bytes, cryptort_bytes, cryptort_bytes, cryptort_bytes) -> cryptort_result
    ) -> cryptort_result {
        key.withBytes { key in
            nonce.withBytes { nonce in
                associated.withBytes { associated in input.withBytes { body(key, nonce, associated, $0) } }
            }
        }
    }
}

/// A libcrypto that is bound at run time, and never freed.
// The library is not changed after it was bound.
struct Libcrypto: @unchecked Sendable {
    /// The file names of OpenSSL 3 and 1.1.1.
    static let names = ["libcrypto.so.3", "libcrypto.so.1.1"]
    /// OpenSSL 1.1.1, as `OPENSSL_VERSION_NUMBER` has it.
    static let oldestVersion: UInt = 0x1010_1000

    fileprivate let pointer: OpaquePointer

    var version: String { String(cString: cryptort_version(pointer)) }

    /// Binds the first usable library of `names`.
    ///
    /// - Throws: `libraryUnavailable`, with what was searched for.
    init(names: [String] = Libcrypto.names, oldestVersion: UInt = Libcrypto.oldestVersion) throws(SigningError) {
        var reason = [CChar](repeating: 0, count: 256)
        let copies = names.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        let pointers = copies.map { $0.map { UnsafePointer($0) } }
        let found = cryptort_load(pointers, names.count, oldestVersion, &reason, reason.count)
        guard let found else {
            let text = String(decoding: reason.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            throw SigningError(.libraryUnavailable, reason: text)
        }
        pointer = found
    }
}

extension SigningError {
    fileprivate init(_ result: cryptort_result, of algorithm: String) {
        switch result {
        case cryptort_unavailable:
            self.init(.libraryUnavailable, reason: "libcrypto does not have \(algorithm)")
        case cryptort_bad_nonce:
            self.init(.invalidNonce, reason: "libcrypto does not accept a nonce of this length")
        case cryptort_not_authentic:
            self.init(.notAuthentic, reason: "the tag does not fit the key and the data")
        default:
            self.init(.libraryFailed, reason: "libcrypto has failed in \(algorithm)")
        }
    }
}

extension Digest {
    fileprivate var number: cryptort_digest {
        switch self {
        case .md5: cryptort_md5
        case .sha1: cryptort_sha1
        case .sha256: cryptort_sha256
        case .sha512: cryptort_sha512
        }
    }
}

extension SealingCipher {
    fileprivate func number(keyCount: Int) -> cryptort_cipher {
        switch (self, keyCount) {
        case (.chaChaPoly, _): cryptort_chacha20_poly1305
        case (.aesGCM, 16): cryptort_aes_128_gcm
        case (.aesGCM, 24): cryptort_aes_192_gcm
        case (.aesGCM, _): cryptort_aes_256_gcm
        }
    }
}

extension ContiguousBytes {
    fileprivate func withBytes(_ body: (cryptort_bytes) -> cryptort_result) -> cryptort_result {
        withUnsafeBytes { buffer in
            body(cryptort_bytes(start: buffer.assumingMemoryBound(to: UInt8.self).baseAddress, count: buffer.count))
        }
    }
}
#endif
