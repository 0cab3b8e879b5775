import ErrandSigning
import Foundation

extension ShopAPI {
    private struct Stock: Encodable {
        let goodsID: Int
        let stock: Int
    }

    /// Adds `/partner/stock`, whose calls have a ``ShopSignature``.
    func addPartners(to table: inout RouteTable) {
        signed(&table, "GET", "/partner/stock") { call in
            let id = try call.inputs.integer("goodsID", in: 0...Int.max)
            guard let goods = catalog.goods.first(where: { $0.id == id }) else { throw ShopRefusal.notFound }
            return .envelope(Stock(goodsID: id, stock: goods.stock))
        }
    }

    /// Adds a route whose calls must be signed, each with another nonce.
    private func signed(
        _ table: inout RouteTable,
        _ method: String,
        _ pattern: String,
        _ handler: @escaping @Sendable (ShopCall) throws -> Response
    ) {
        open(&table, method, pattern) { [store] call in
            try store.use(ShopSignature(call.inputs))
            return try handler(call)
        }
    }
}

/// The signature of a call's parameters, as many partners of a shop compute it.
///
/// Among the parameters are `timestamp`, the seconds since 1970; `nonce`, a text that no other call has; and `sign`, the
/// HMAC-SHA-256 in hexadecimal of all the others as `name=value`, sorted by name and joined by `&`.
package struct ShopSignature: Sendable {
    /// The key of the signatures.
    package static let secret = "partner-secret-1"
    /// How far a timestamp may be from the server's clock, in seconds.
    static let tolerance = 300

    let timestamp: Int
    let nonce: String

    /// Verifies the signature and the timestamp of a call; the nonce must be checked by ``ShopStore/use(_:)``.
    ///
    /// - Throws: ``ShopRefusal``.
    init(_ inputs: ShopInputs) throws(ShopRefusal) {
        guard let nonce = inputs["nonce"], !nonce.isEmpty, inputs["sign"] == Self.signature(of: inputs) else {
            throw .wrongSignature
        }
        self.nonce = nonce
        timestamp = try inputs.integer("timestamp", in: 0...Int.max)
        guard abs(timestamp - time(nil)) <= Self.tolerance else { throw .staleTimestamp }
    }

    private static func signature(of inputs: ShopInputs) -> String {
        let signed = inputs.values.filter { $0.key != "sign" }.sorted { $0.key < $1.key }
        let text = signed.map { "\($0.key)=\($0.value)" }.joined(separator: "&")
        return SHA256.hexadecimal(SHA256.hmac(of: text.utf8, key: secret.utf8))
    }
}

extension ShopAPI {
    private struct SessionKey: Encodable {
        let id: String
        let nonce: String
        /// In seconds.
        let lifetime: Int
    }

    private struct Receipt: Encodable {
        let order: Int
        let amount: String
        let receipt: String
    }

    /// Adds `/wallet/keys`, which exchanges a session key, and `/wallet/pay`, whose bodies are sealed with one.
    func addWallet(to table: inout RouteTable) {
        open(&table, "POST", "/wallet/keys") { [store] call in
            guard let nonce = call.inputs["nonce"], !nonce.isEmpty else { throw ShopRefusal.badParameter }
            let key = ShopSessionKey(clientNonce: nonce)
            store.add(key)
            let lifetime = Int(ShopSessionKey.lifetime / .seconds(1))
            return .envelope(SessionKey(id: key.id, nonce: key.nonce, lifetime: lifetime))
        }
        sealed(&table, "POST", "/wallet/pay") { call in
            let id = try call.inputs.integer("order", in: 0...Int.max)
            guard let order = catalog.orders.first(where: { $0.id == id }) else { throw ShopRefusal.notFound }
            return Receipt(order: id, amount: order.amount, receipt: "已付款 \(order.title)")
        }
    }

    /// Adds a route whose bodies are sealed; what concerns the key is refused in the clear.
    private func sealed<Value: Encodable & SendableMetatype>(
        _ table: inout RouteTable,
        _ method: String,
        _ pattern: String,
        _ handler: @escaping @Sendable (ShopCall) throws -> Value
    ) {
        open(&table, method, pattern) { [store] call in
            let seal = try ShopSeal(call.request, in: store)
            let opened = ShopCall(try seal.opened())
            do {
                return try seal.response(ShopEnvelope(errcode: 200, msg: "ok", data: handler(opened)), status: 200)
            } catch let refusal as ShopRefusal {
                let envelope = ShopEnvelope<Nothing>(errcode: refusal.code, msg: refusal.message, data: nil)
                return try seal.response(envelope, status: refusal.status)
            }
        }
    }
}

/// A key for sealed calls, which both sides derive from a secret that they share and from two nonces.
package struct ShopSessionKey: Sendable {
    /// The secret that the shop and its apps share.
    package static let secret = "wallet-secret-1"
    /// How long a key is accepted.
    static let lifetime = Duration.seconds(3_600)

    let id = randomName()
    let nonce = randomName()
    /// The 32 bytes of the key.
    let bytes: [UInt8]
    let expiry = ContinuousClock.now + lifetime

    /// Creates a key for the app that has sent this nonce.
    init(clientNonce: String) {
        bytes = SHA256.hmac(of: "\(clientNonce)|\(nonce)".utf8, key: Self.secret.utf8)
    }
}

/// Opens the body of a call and seals that of its response, in the format of `TrafficSealing`.
struct ShopSeal {
    private static let mediaType = "application/x-sealed"
    private static let cipher = SealingCipher.aesGCM

    private let request: RecordedRequest
    private let key: ShopSessionKey

    /// Creates the seal of a call.
    ///
    /// - Throws: ``ShopRefusal`` when its key is unknown or has expired.
    init(_ request: RecordedRequest, in store: ShopStore) throws(ShopRefusal) {
        self.request = request
        key = try store.key(request.header("X-Key-ID") ?? "")
    }

    /// Returns the call with its opened body.
    ///
    /// - Throws: ``ShopRefusal`` when the body was not sealed with the key and for this path.
    func opened() throws(ShopRefusal) -> RecordedRequest {
        let type = request.header("X-Sealed-Content-Type") ?? ""
        let lines = ["request"] + common + [type]
        let isSealed = request.header("Content-Type") == Self.mediaType
        guard isSealed, !nonce.isEmpty,
            let body = try? Self.cipher.open(Data(request.body), key: Data(key.bytes), authenticating: data(lines))
        else { throw .notSealed }
        var opened = request
        opened.body = Array(body)
        return opened
    }

    /// Returns the response with the sealed JSON of a value.
    func response(_ value: some Encodable, status: Int) throws -> Response {
        let type = "application/json"
        let lines = ["response"] + common + [type, "\(status)"]
        let nonce = Data((0..<SealingCipher.nonceCount).map { _ in UInt8.random(in: .min ... .max) })
        let json = try JSONEncoder().encode(value)
        let body = try Self.cipher.seal(json, key: Data(key.bytes), nonce: nonce, authenticating: data(lines))
        let headers: HeaderLines = ["Content-Type": Self.mediaType, "X-Sealed-Content-Type": type]
        return .bytes(Array(body), status: status, headers: headers)
    }

    /// What the tags of both bodies authenticate.
    private var common: [String] { [request.method, request.target, key.id, nonce] }

    /// What makes the call another one than all others.
    private var nonce: String { request.header("X-Sealed-Nonce") ?? "" }

    private func data(_ lines: [String]) -> Data { Data(lines.joined(separator: "\n").utf8) }
}
