import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Certificates in PEM form", .timeLimit(.minutes(10)))
struct PEMCertificatesTests {
    private static func block(_ bytes: [UInt8], newline: String = "\n") -> String {
        let lines = Data(bytes).base64EncodedString(options: .lineLength64Characters).split(whereSeparator: \.isNewline)
        let text = ["-----BEGIN CERTIFICATE-----"] + lines.map(String.init) + ["-----END CERTIFICATE-----", ""]
        return text.joined(separator: newline)
    }

    private static let one = [UInt8](repeating: 1, count: 500)
    private static let two = [UInt8](repeating: 2, count: 100)

    private func decoded(_ text: String) throws -> [Data] {
        try TLSConfiguration.Certificates.data(Data(text.utf8)).decoded()
    }

    @Test(arguments: ["\n", "\r\n", "\r"])
    func `Every certificate of a text is read, and other lines are ignored`(_ newline: String) throws {
        let key = "-----BEGIN PRIVATE KEY-----\(newline)AAAA\(newline)-----END PRIVATE KEY-----\(newline)"
        let text =
            "# Errand CA\(newline)" + Self.block(Self.one, newline: newline) + "subject=CN = x\(newline)" + key
            + Self.block(Self.two, newline: newline)
        #expect(try decoded(text) == [Data(Self.one), Data(Self.two)])
    }

    @Test func `Blanks around lines are ignored`() throws {
        let lines = Self.block(Self.one).split(separator: "\n").map { "  \($0) \t" }
        #expect(try decoded(lines.joined(separator: "\n")) == [Data(Self.one)])
    }

    @Test(arguments: [
        ("-----BEGIN CERTIFICATE-----\nAQ$$\n-----END CERTIFICATE-----", "no Base64"),
        ("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----", "empty"),
        ("-----BEGIN CERTIFICATE-----\nAQID", "no end"),
        ("-----BEGIN CERTIFICATE-----\nAQ\n-----BEGIN CERTIFICATE-----\nAQ\n-----END CERTIFICATE-----", "two begin"),
    ])
    func `A damaged certificate is refused with its number`(_ text: String, _ mistake: String) throws {
        let error = #expect(throws: TransportError.self) { try decoded(Self.block(Self.one) + text) }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.reason.contains("tls.additionalAuthorities") == true)
        #expect(error?.reason.contains("certificate 2 ") == true, "\(mistake)")
    }

    @Test(arguments: ["", "no certificate", "-----END CERTIFICATE-----"])
    func `A text without a certificate is refused`(_ text: String) throws {
        let error = #expect(throws: TransportError.self) { try decoded(text) }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.reason.contains("contains no certificate") == true)
    }

    @Test func `A file that cannot be read is refused with its name`() throws {
        let missing = TLSConfiguration.Certificates.file(URL(filePath: "/nowhere/ca.pem"))
        let error = #expect(throws: TransportError.self) { try missing.decoded() }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.reason.contains("ca.pem cannot be read") == true)
    }

    @Test(.enabled(if: TestAuthority.isAvailable, "openssl is not installed"))
    func `The certificates of a file are those of openssl`() async throws {
        let authority = try TestAuthority()
        let command = ["openssl", "x509", "-in", "ca.pem", "-outform", "DER", "-out", "ca.der"]
        let ending = try await TestProgram(command, in: authority.directory).ending()
        #expect(ending.status == 0)
        let expected = try Data(contentsOf: authority.directory.appending(path: "ca.der"))
        #expect(try TLSConfiguration.Certificates.file(authority.certificate).decoded() == [expected])
    }
}
