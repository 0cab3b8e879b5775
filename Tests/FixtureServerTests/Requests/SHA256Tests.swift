import ErrandSigning
import Foundation
import TestSupport
import Testing

@testable import FixtureServer

@Suite("SHA-256", .limitedConcurrency, .timeLimit(.minutes(10)))
struct SHA256Tests {
    @Test(arguments: [
        (0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"),
        (56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"),
        (64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"),
        (1000, "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"),
    ])
    func `The hash is that of the standard, in whatever pieces the bytes arrive`(count: Int, expected: String) throws {
        let bytes = [UInt8](repeating: 0x61, count: count)
        #expect(SHA256.hexadecimal(of: bytes) == expected)
        for size in [1, 63, 64, 65] {
            var hash = try PlatformCrypto.RunningHash(.sha256)
            for start in stride(from: 0, to: count, by: size) {
                try hash.add(Data(bytes[start..<min(count, start + size)]))
            }
            let bytes = try hash.finish()
            #expect(SHA256.hexadecimal(bytes) == expected)
        }
    }

    // RFC 4231, test cases 1, 2, 6 and 7.
    @Test(arguments: [
        (
            [UInt8](repeating: 0x0b, count: 20), "Hi There",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            Array("Jefe".utf8), "what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            [UInt8](repeating: 0xaa, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
        (
            [UInt8](repeating: 0xaa, count: 131),
            "This is a test using a larger than block-size key and a larger than block-size data."
                + " The key needs to be hashed before being used by the HMAC algorithm.",
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
        ),
    ])
    func `The HMAC is that of RFC 4231`(key: [UInt8], text: String, expected: String) {
        #expect(SHA256.hexadecimal(SHA256.hmac(of: text.utf8, key: key)) == expected)
    }
}
