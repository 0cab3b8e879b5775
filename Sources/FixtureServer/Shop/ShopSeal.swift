import ErrandSigning
import Foundation

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
