import Foundation
import Testing
import TestSupport

@testable import ErrandSigning

@Suite("Digests and ciphers of the platform")
struct CryptoTests {
    static let openssl = ["/usr/bin/openssl", "/usr/local/bin/openssl", "/opt/homebrew/bin/openssl"]
        .first { ChildProcesses.areAllowed && FileManager.default.isExecutableFile(atPath: $0) }

    @Test func `A digest of no bytes is that of the specifications`() throws {
        #expect(try Digest.md5.hash(of: Data()).hexadecimal == "d41d8cd98f00b204e9800998ecf8427e")
        #expect(try Digest.sha1.hash(of: Data()).hexadecimal == "da39a3ee5e6b4b0d3255bfef95601890afd80709")
        let sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        #expect(try Digest.sha256.hash(of: Data()).hexadecimal == sha256)
    }

    @Test func `Bytes are written as two digits each, however many they are`() {
        let digits = Array("0123456789abcdef")
        for count in Array(0...9) + [256] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: count - 1 - $0) }
            let text = String(bytes.flatMap { [digits[Int($0 / 16)], digits[Int($0 % 16)]] })
            #expect(bytes.hexadecimal == text)
            #expect(bytes.hexadecimalBytes == Array(text.utf8))
            #expect(Data(bytes).hexadecimal == text)
        }
    }

    @Test(arguments: [0, 1, 31, 63, 64, 65, 131], [0, 1, 64, 2_048])
    func `An authentication code is that of RFC 2104 for a key of any length`(_ keyCount: Int, _ count: Int) throws {
        let key = (0..<keyCount).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ 1) }
        let data = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 7) }
        let start = keyCount > 64 ? try Digest.sha256.hash(of: key) : key
        let block = start + [UInt8](repeating: 0, count: 64 - start.count)
        let inner = try Digest.sha256.hash(of: block.map { $0 ^ 0x36 } + data)
        let outer = try Digest.sha256.hash(of: block.map { $0 ^ 0x5C } + inner)
        #expect(try PlatformCrypto.hmacSHA256(of: data, key: key) == outer)
    }

    @Test(.enabled(if: openssl != nil, "no openssl"), arguments: Digest.allCases, [0, 1, 63, 64, 65, 2048, 1_000_003])
    func `A digest is that of openssl dgst`(_ digest: Digest, _ count: Int) throws {
        let data = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 7) })
        let file = FileManager.default.temporaryDirectory.appending(path: "errand-digest-\(UUID())")
        try data.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try digest.hash(of: data).hexadecimal == output(of: ["dgst", "-\(digest)", "-r", file.path]))
    }

    private func output(of arguments: [String]) throws -> String {
        let (process, pipe) = (Process(), Pipe())
        process.executableURL = URL(filePath: try #require(Self.openssl))
        process.arguments = arguments
        process.standardOutput = pipe
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return String(String(decoding: output, as: UTF8.self).prefix { $0 != " " })
    }

    @Test func `ChaCha20-Poly1305 is that of RFC 8439 section 2.8.2`() throws {
        let message = Data(
            """
            Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, \
            sunscreen would be it.
            """.utf8
        )
        let key = Data((0x80...0x9f).map(UInt8.init))
        let nonce = Data(hexadecimal: "07000000 4041424344454647")
        let associated = Data(hexadecimal: "50515253c0c1c2c3c4c5c6c7")
        let ciphertext = Data(
            hexadecimal: """
                d31a8d34648e60db7b86afbc53ef7ec2 a4aded51296e08fea9e2b5a736ee62d6
                3dbea45e8ca9671282fafb69da92728b 1a71de0a9e060b2905d6a5b67ecd3b36
                92ddbd7f2d778b8c9803aee328091b58 fab324e4fad675945585808b4831d7bc
                3ff4def08e4b7a9de576d26586cec64b 6116
                """
        )
        let tag = Data(hexadecimal: "1ae10b594f09e26a7e902ecbd0600691")
        let sealed = try SealingCipher.chaChaPoly.seal(message, key: key, nonce: nonce, authenticating: associated)
        #expect(sealed == nonce + ciphertext + tag)
        #expect(try SealingCipher.chaChaPoly.open(sealed, key: key, authenticating: associated) == message)
    }

    @Test(arguments: SealingCipher.allCases, [0, 1, 16, 2048, 100_001])
    func `What is sealed is opened again, and only unchanged`(_ cipher: SealingCipher, _ count: Int) throws {
        let (key, nonce, associated) = (Data.random(count: 32), Data.random(count: 12), Data("POST /a".utf8))
        let message = Data.random(count: count)
        let sealed = try cipher.seal(message, key: key, nonce: nonce, authenticating: associated)
        #expect(sealed.count == count + 28)
        #expect(try cipher.open(sealed, key: key, authenticating: associated) == message)
        for index in Set([0, 11, 12, sealed.count / 2, sealed.count - 16, sealed.count - 1]) {
            var changed = sealed
            changed[index] ^= 1
            #expect(failure { try cipher.open(changed, key: key, authenticating: associated) } == .notAuthentic)
        }
        #expect(failure { try cipher.open(sealed, key: key, authenticating: Data("GET /a".utf8)) } == .notAuthentic)
        let another = Data.random(count: 32)
        #expect(failure { try cipher.open(sealed, key: another, authenticating: associated) } == .notAuthentic)
        #expect(failure { try cipher.open(sealed.dropLast(), key: key, authenticating: associated) } != nil)
    }

    @Test func `A slice of another buffer is sealed and opened as a copy of it is`() throws {
        let buffer = Data.random(count: 200)
        let (key, nonce) = (buffer[10..<42], buffer[50..<62])
        let sealed = try SealingCipher.aesGCM.seal(
            buffer[100..<150],
            key: key,
            nonce: nonce,
            authenticating: buffer[0..<5]
        )
        let surrounded = Data([1, 2, 3]) + sealed + Data([4])
        let opened = try SealingCipher.aesGCM.open(
            surrounded[3..<(3 + sealed.count)],
            key: Data(key),
            authenticating: Data(buffer[0..<5])
        )
        #expect(opened == Data(buffer[100..<150]))
    }

    @Test(arguments: SealingCipher.allCases) func `A wrong key, nonce or length is refused with its kind`(
        _ cipher: SealingCipher
    ) {
        let key = Data(count: 32)
        func sealing(_ key: Data, _ nonce: Data) -> SigningError.Kind? {
            failure { try cipher.seal(Data(), key: key, nonce: nonce, authenticating: Data()) }
        }
        #expect(sealing(Data(count: 31), Data(count: 12)) == .invalidKey)
        #expect(sealing(Data(), Data(count: 12)) == .invalidKey)
        #expect(sealing(key, Data()) == .invalidNonce)
        #expect(failure { try cipher.open(Data(count: 27), key: key, authenticating: Data()) } == .malformedBody)
    }

    @Test func `Random bytes have the wanted length and differ`() {
        #expect(Data.random(count: 0).isEmpty)
        #expect(Set((0..<1000).map { _ in Data.random(count: 12) }).count == 1000)
    }

    #if !canImport(CryptoKit)
    @Test func `A missing library is an error with what was searched for`() {
        let error = failed { try Libcrypto(names: ["libnone.so.8", "libnone.so.9"]) }
        #expect(error?.kind == .libraryUnavailable)
        #expect(error?.reason == "no libcrypto of OpenSSL; searched for libnone.so.8, libnone.so.9")
    }

    @Test func `A library that is too old, or another one, is an error that says so`() {
        let tooOld = failed { try Libcrypto(oldestVersion: 0xF000_0000) }
        #expect(tooOld?.kind == .libraryUnavailable)
        #expect(tooOld?.reason.contains("which is too old: 1.1.1 is required") == true)
        let another = failed { try Libcrypto(names: ["libm.so.6"]) }
        #expect(another == SigningError(.libraryUnavailable, reason: "libm.so.6 has no OpenSSL_version_num"))
    }

    private func failed(_ body: () throws -> Libcrypto) -> SigningError? {
        #expect(throws: SigningError.self) { try body() }
    }
    #endif

    private func failure(_ body: () throws -> Data) -> SigningError.Kind? {
        #expect(throws: SigningError.self, performing: body)?.kind
    }
}

/// The vectors of Project Wycheproof.
@Suite("Wycheproof", .enabled(if: SharedData.wycheproof.exists, "no ../shared/data/wycheproof"))
struct WycheproofTests {
    struct Vectors: Decodable {
        let numberOfTests: Int
        let testGroups: [Group]
    }

    struct Group: Decodable {
        /// In bits.
        let tagSize: Int
        let tests: [Vector]
    }

    struct Vector: Decodable {
        let tcId: Int
        let key: String
        var iv: String?
        var aad: String?
        let msg: String
        var ct: String?
        let tag: String
        let result: String

        var isValid: Bool { result == "valid" }
    }

    @Test func `HMAC-SHA-256 accepts every valid tag and refuses every invalid one`() throws {
        let vectors = try SharedData.wycheproof.json("hmac_sha256_test.json", as: Vectors.self)
        var count = 0
        for group in vectors.testGroups {
            for vector in group.tests {
                let code = try PlatformCrypto.hmacSHA256(
                    of: Data(hexadecimal: vector.msg),
                    key: [UInt8](Data(hexadecimal: vector.key))
                )
                // Half of the vectors have tags that are truncated to 128 bits.
                let isAccepted = Data(code.prefix(group.tagSize / 8)) == Data(hexadecimal: vector.tag)
                #expect(isAccepted == vector.isValid, "\(vector.tcId)")
                count += 1
            }
        }
        #expect(count == 174 && vectors.numberOfTests == 174)
    }

    @Test func `AES-GCM opens and makes every valid message and opens no invalid one`() throws {
        let vectors = try SharedData.wycheproof.json("aes_gcm_test.json", as: Vectors.self)
        let tests = vectors.testGroups.flatMap(\.tests)
        #expect(tests.count == 316 && vectors.numberOfTests == 316)
        var refused: [Int] = []
        for vector in tests {
            do {
                let isAccepted = try accepts(vector)
                #expect(isAccepted == vector.isValid, "\(vector.tcId)")
            } catch {
                #expect(error.kind == .invalidNonce, "\(vector.tcId): \(error)")
                if vector.isValid { refused.append((vector.iv?.utf8.count ?? 0) * 4) }
            }
        }
        // Valid, but the platform does not accept nonces of these lengths in bits: OpenSSL 3 none of more than 128 bytes,
        // CryptoKit none of less than 12. Sealed traffic has nonces of 12 bytes only.
        #if canImport(CryptoKit)
        #expect(refused.allSatisfy { $0 < 96 })
        #else
        let isOpenSSL3 = try Libcrypto().version.contains("OpenSSL 3")
        #expect(refused == (isOpenSSL3 ? [2056, 2056, 2056] : []))
        #endif
    }

    /// Returns whether the message of `vector` is opened, and sealed to the same bytes.
    private func accepts(_ vector: Vector) throws(SigningError) -> Bool {
        let (key, nonce) = (Data(hexadecimal: vector.key), Data(hexadecimal: vector.iv ?? ""))
        let associated = Data(hexadecimal: vector.aad ?? "")
        let message = Data(hexadecimal: vector.msg)
        let sealed = nonce + Data(hexadecimal: vector.ct ?? "") + Data(hexadecimal: vector.tag)
        do throws(SigningError) {
            let opened = try SealingCipher.aesGCM.open(
                sealed,
                key: key,
                nonceCount: nonce.count,
                authenticating: associated
            )
            guard opened == message else { return false }
        } catch  where error.kind == .notAuthentic {
            return false
        }
        return try SealingCipher.aesGCM.seal(message, key: key, nonce: nonce, authenticating: associated) == sealed
    }
}
