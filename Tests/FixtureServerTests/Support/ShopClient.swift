import Foundation

@testable import FixtureServer

/// A client that calls the shop over one connection and keeps a session.
struct ShopClient: ~Copyable {
    /// The envelope of a response.
    struct Envelope<Value: Decodable>: Decodable {
        let errcode: Int
        let msg: String
        let data: Value?
    }

    /// Data that is ignored.
    struct Ignored: Decodable {
        init(from decoder: any Decoder) {}
    }

    private var connection: RawClient
    /// The header line that identifies the session.
    var credential: [String] = []

    init(_ server: FixtureServer) throws {
        connection = try RawClient(port: server.port)
    }

    /// Sends a request and returns the whole response.
    mutating func send(
        _ method: String,
        _ target: String,
        _ headers: [String] = [],
        body: some Collection<UInt8> = []
    ) -> RawClient.Reply {
        connection.request(method, target, credential + headers, body: Array(body))
        return connection.reply()
    }

    /// Sends a request and returns the data of its envelope, or fails with its code.
    mutating func call<Value: Decodable>(
        _ method: String,
        _ target: String,
        _ json: String = "",
        as type: Value.Type = Ignored.self
    ) throws -> Value {
        let reply = send(method, target, body: json.utf8)
        let envelope = try JSONDecoder().decode(Envelope<Value>.self, from: Data(reply.body))
        guard envelope.errcode == 200, let data = envelope.data else {
            throw ShopRefusal(code: envelope.errcode, message: envelope.msg, status: reply.status)
        }
        return data
    }

    /// Signs in and keeps the cookie.
    mutating func signIn() throws {
        let reply = send("POST", "/account/login", body: #"{"account":"lin","password":"errand-1"}"#.utf8)
        guard let cookie = reply.header("Set-Cookie") else { throw ShopRefusal.wrongPassword }
        credential = ["Cookie: \(cookie.prefix { $0 != ";" })"]
    }
}
