import ErrandSigning
import Foundation
import TestSupport
import Testing

@testable import FixtureServer

@Suite("The shop's sealed calls", .limitedConcurrency, .timeLimit(.minutes(10)))
struct ShopWalletTests {
    private struct ExchangedKey: Decodable {
        let id: String
        let nonce: String
    }

    private struct Receipt: Decodable {
        let order: Int
        let receipt: String
    }

    /// A key and what the client does with it.
    private struct Sealing {
        let id: String
        let key: Data
        let nonce = "one"

        func seal(_ text: String, for target: String = "/wallet/pay") throws -> Data {
            let nonce = Data((0..<12).map { _ in UInt8.random(in: .min ... .max) })
            let lines = Data("request\nPOST\n\(target)\n\(id)\n\(self.nonce)\napplication/json".utf8)
            return try SealingCipher.aesGCM.seal(Data(text.utf8), key: key, nonce: nonce, authenticating: lines)
        }

        func open<Value: Decodable>(
            _ reply: RawClient.Reply,
            as type: Value.Type = Value.self
        ) throws -> ShopClient.Envelope<Value> {
            let type = try #require(reply.header("X-Sealed-Content-Type"))
            let lines = Data("response\nPOST\n/wallet/pay\n\(id)\n\(nonce)\n\(type)\n\(reply.status)".utf8)
            let json = try SealingCipher.aesGCM.open(Data(reply.body), key: key, authenticating: lines)
            return try JSONDecoder().decode(ShopClient.Envelope<Value>.self, from: json)
        }

        func headers(id: String? = nil) -> [String] {
            [
                "X-Key-ID: \(id ?? self.id)", "Content-Type: application/x-sealed",
                "X-Sealed-Content-Type: application/json", "X-Sealed-Nonce: \(nonce)",
            ]
        }
    }

    private let server: FixtureServer

    init() throws {
        server = try FixtureServer.startShop()
    }

    private func exchangedKey(_ client: inout ShopClient) throws -> Sealing {
        let response = try client.call("POST", "/wallet/keys", #"{"nonce":"mine"}"#, as: ExchangedKey.self)
        let key = SHA256.hmac(of: "mine|\(response.nonce)".utf8, key: ShopSessionKey.secret.utf8)
        return Sealing(id: response.id, key: Data(key))
    }

    @Test func `A sealed call has a sealed response`() throws {
        var client = try ShopClient(server)
        let sealing = try exchangedKey(&client)
        let body = try sealing.seal(#"{"order":202600001}"#)
        let reply = client.send("POST", "/wallet/pay", sealing.headers(), body: body)
        #expect(reply.header("Content-Type") == "application/x-sealed")
        #expect(Data(reply.body).range(of: Data("202600001".utf8)) == nil)
        let envelope = try sealing.open(reply, as: Receipt.self)
        #expect(envelope.errcode == 200 && envelope.data?.order == 202_600_001)
        #expect(envelope.data?.receipt.isEmpty == false)
    }

    @Test func `What a handler refuses is refused in a sealed response`() throws {
        var client = try ShopClient(server)
        let sealing = try exchangedKey(&client)
        let reply = client.send("POST", "/wallet/pay", sealing.headers(), body: try sealing.seal(#"{"order":1}"#))
        #expect(reply.status == 404)
        #expect(try sealing.open(reply, as: ShopClient.Ignored.self).errcode == 404)
    }

    @Test func `An unknown or expired key is refused in the clear, and counted`() throws {
        var client = try ShopClient(server)
        let sealing = try exchangedKey(&client)
        let body = try sealing.seal(#"{"order":202600001}"#)
        _ = try client.call("POST", "/debug/expire-key", #"{"id":"\#(sealing.id)"}"#)
        for headers in [sealing.headers(), sealing.headers(id: "unknown"), []] {
            let reply = client.send("POST", "/wallet/pay", headers, body: body)
            let json = try JSONSerialization.jsonObject(with: Data(reply.body)) as? [String: Any]
            #expect(reply.header("Content-Type") == "application/json" && json?["errcode"] as? Int == 41_001)
        }
        let log = try client.call("GET", "/debug/log", as: ShopLog.self)
        #expect(log.keyExchanges == 1 && log.keyRefusals == 3)
    }

    @Test func `A body that is not sealed, changed, or sealed for another path is refused`() throws {
        var client = try ShopClient(server)
        let sealing = try exchangedKey(&client)
        let text = #"{"order":202600001}"#
        var changed = try sealing.seal(text)
        changed[20] ^= 1
        for body in [Data(text.utf8), changed, try sealing.seal(text, for: "/wallet/other"), Data()] {
            let reply = client.send("POST", "/wallet/pay", sealing.headers(), body: body)
            let json = try JSONSerialization.jsonObject(with: Data(reply.body)) as? [String: Any]
            #expect(json?["errcode"] as? Int == 41_002)
        }
    }
}
