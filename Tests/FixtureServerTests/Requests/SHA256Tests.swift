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
    func `The hash is that of the standard, in whatever pieces the bytes arrive`(count: Int, expected: String) {
        let bytes = [UInt8](repeating: 0x61, count: count)
        #expect(SHA256.hexadecimal(of: bytes) == expected)
        for size in [1, 63, 64, 65] {
            var hash = SHA256()
            for start in stride(from: 0, to: count, by: size) {
                bytes[start..<min(count, start + size)].withUnsafeBytes { hash.update($0) }
            }
            #expect(hash.finish() == expected)
        }
    }
}
