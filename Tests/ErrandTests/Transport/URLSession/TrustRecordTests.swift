import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

/// The keys that were accepted are those of the process, so each test has other keys.
@Suite("The record of accepted and refused certificates", .timeLimit(.minutes(10)))
struct TrustRecordTests {
    private static func record(_ hosts: String..., key: UInt8) throws -> TrustRecord {
        let pin = "sha256//" + Data(repeating: key, count: 32).base64EncodedString()
        return TrustRecord(try PinnedKeys(Dictionary(uniqueKeysWithValues: hosts.map { ($0, [pin]) })))
    }

    private static func host(_ name: String) throws -> HostName { try #require(HostName(URL("https://\(name)"))) }

    @Test
    func `A response is refused until a server with a pinned key was accepted`() throws {
        let record = try Self.record("a.test", "b.test", key: 201)
        let url = URL("https://A.test./goods")
        let error = #expect(throws: TransportError.self) { try record.checkResponse(of: url) }
        #expect(error?.kind == .security)
        record.accept(try Self.host("c.test"))
        #expect(throws: TransportError.self) { try record.checkResponse(of: url) }
        record.accept(try Self.host("b.test"))
        try record.checkResponse(of: url)
        try Self.record("d.test", key: 201).checkResponse(of: URL("https://d.test"))
    }

    @Test
    func `The response of a host without pinned keys is not refused`() throws {
        try Self.record("a.test", key: 202).checkResponse(of: URL("https://b.test"))
        try TrustRecord().checkResponse(of: URL("http://a.test"))
    }

    @Test
    func `A refusal is that of its host until another certificate is accepted`() throws {
        let record = try Self.record("a.test", key: 203)
        record.refuse(try Self.host("a.test"), for: TransportError(.security, "another key"))
        #expect(record.refusal(of: URL("https://A.test:8443/x"))?.reason == "another key")
        #expect(record.refusal(of: URL("https://b.test")) == nil)
        record.accept(try Self.host("a.test"))
        #expect(record.refusal(of: URL("https://a.test")) == nil)
    }
}
