import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite(
    "The encoding of public keys",
    .limitedConcurrency,
    .timeLimit(.minutes(10)),
    .enabled(if: TestAuthority.isAvailable, "openssl is not installed")
)
struct SubjectPublicKeyInfoTests {
    struct Kind: Sendable, CustomStringConvertible {
        let description: String
        let algorithm: SubjectPublicKeyInfo.Algorithm
        let options: String
    }

    static let kinds = [
        Kind(description: "RSA 2048", algorithm: .rsa, options: "RSA -pkeyopt rsa_keygen_bits:2048"),
        Kind(description: "RSA 3072", algorithm: .rsa, options: "RSA -pkeyopt rsa_keygen_bits:3072"),
        Kind(description: "RSA 4096", algorithm: .rsa, options: "RSA -pkeyopt rsa_keygen_bits:4096"),
        // Its exponent has one byte.
        Kind(
            description: "RSA 2048 with exponent 3",
            algorithm: .rsa,
            options: "RSA -pkeyopt rsa_keygen_bits:2048 -pkeyopt rsa_keygen_pubexp:3"
        ),
        Kind(description: "P-256", algorithm: .p256, options: "EC -pkeyopt ec_paramgen_curve:P-256"),
        Kind(description: "P-384", algorithm: .p384, options: "EC -pkeyopt ec_paramgen_curve:P-384"),
        Kind(description: "P-521", algorithm: .p521, options: "EC -pkeyopt ec_paramgen_curve:P-521"),
    ]

    @Test(arguments: kinds)
    func `A key is encoded as openssl encodes it, and has the same digest`(_ kind: Kind) async throws {
        let folder = try TemporaryFolder()
        try await openssl("genpkey -algorithm \(kind.options) -out key.pem", in: folder)
        try await openssl("pkey -in key.pem -pubout -outform DER -out expected", in: folder)
        let expected = try Data(contentsOf: folder.url.appending(path: "expected"))
        let encoded = SubjectPublicKeyInfo.encode(try await key(kind.algorithm, in: folder), kind.algorithm)
        #expect(encoded == expected)
        try encoded.write(to: folder.url.appending(path: "encoded"))
        let digests = try await openssl("dgst -sha256 -r encoded expected", in: folder).split(separator: "\n")
        #expect(Set(digests.map { $0.prefix(64) }).count == 1)
    }

    /// Returns the key in the form of Apple's systems: PKCS #1 for RSA, an uncompressed point (X9.63) for curves.
    private func key(_ algorithm: SubjectPublicKeyInfo.Algorithm, in folder: TemporaryFolder) async throws -> Data {
        if algorithm == .rsa {
            try await openssl("rsa -in key.pem -RSAPublicKey_out -outform DER -out key", in: folder)
            return try Data(contentsOf: folder.url.appending(path: "key"))
        }
        let text = try await openssl("pkey -in key.pem -text_pub -noout", in: folder)
        let digits = text.split(separator: "\n").filter { $0.hasPrefix("    ") }.joined().filter { $0.isHexDigit }
        var rest = Substring(digits)
        var bytes = Data()
        while !rest.isEmpty {
            bytes.append(try #require(UInt8(rest.prefix(2), radix: 16)))
            rest = rest.dropFirst(2)
        }
        #expect(bytes.first == 4)
        return bytes
    }

    @discardableResult
    private func openssl(_ arguments: String, in folder: TemporaryFolder) async throws -> String {
        let command = ["openssl"] + arguments.split(separator: " ").map(String.init)
        let ending = try await TestProgram(command, in: folder.url).ending()
        try #require(ending.status == 0, "\(command): \(ending.standardError)")
        return ending.output
    }
}
