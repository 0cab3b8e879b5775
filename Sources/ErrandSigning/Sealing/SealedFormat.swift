import Errand
import Foundation

/// What the tag of a sealed body authenticates besides the body; see ``TrafficSealing``.
struct SealedLines {
    let data: Data

    /// Creates the lines of a request, or with a status those of its response.
    init(_ request: HTTPRequest, key: SessionKey, nonce: String?, contentType: String?, status: Int? = nil) {
        var lines = [
            status == nil ? "request" : "response", request.method.rawValue,
            WireURL(request.url)?.target ?? request.url.absoluteString, key.id, nonce ?? "", contentType ?? "",
        ]
        if let status { lines.append(String(status)) }
        data = Data(lines.joined(separator: "\n").utf8)
    }
}

extension HTTPBody {
    /// Returns the bytes of all pieces.
    ///
    /// - Throws: `unsupportedRequest` for a stream, for more than `limit` bytes, and for a file that cannot be read.
    func bytes(limit: Int) throws(SigningError) -> Data {
        if pieces.count == 1, case .data(let data) = pieces[0], data.count <= limit { return data }
        var bytes = Data()
        for piece in pieces {
            switch piece {
            case .data(let data): bytes.append(data)
            case .file(let file): bytes.append(try Self.bytes(of: file, limit: limit - bytes.count))
            case .stream:
                let reason = "a body that is a stream cannot be sealed; use a copy of the service without sealing"
                throw SigningError(.unsupportedRequest, reason: reason)
            }
            guard bytes.count <= limit else {
                throw SigningError(.unsupportedRequest, reason: "the body is larger than maxBodyBytes, \(limit) bytes")
            }
        }
        return bytes
    }

    /// Returns the bytes of a file, and at least one more than `limit` of a larger one.
    private static func bytes(of file: URL, limit: Int) throws(SigningError) -> Data {
        do {
            return Data(try FileDescriptor.regularFile(file).readAll(atMost: min(limit, .max - 1) + 1))
        } catch {
            throw SigningError(.unsupportedRequest, reason: "\(Redactor.fileName(of: file)) cannot be read")
        }
    }
}

extension TrafficSealing {
    /// Returns a body in its sealed form, with a new nonce.
    func seal(_ body: Data, key: SessionKey, authenticating lines: SealedLines) throws(SigningError) -> Data {
        let nonce = Data([UInt8].random(count: SealingCipher.nonceCount))
        let sealed = try cipher.seal(body, key: key.bytes, nonce: nonce, authenticating: lines.data)
        return encoding == .base64 ? sealed.base64EncodedData() : sealed
    }

    func open(_ body: Data, key: SessionKey, authenticating lines: SealedLines) throws(SigningError) -> Data {
        guard let sealed = encoding == .base64 ? Data(base64Encoded: body) : body else {
            throw SigningError(.malformedBody, reason: "the body is not Base64")
        }
        return try cipher.open(sealed, key: key.bytes, authenticating: lines.data)
    }

    func check(_ key: SessionKey) throws(SigningError) {
        try cipher.check(key.bytes, nonceCount: SealingCipher.nonceCount)
        guard !key.id.isEmpty, key.id.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw SigningError(.invalidKey, reason: "the name of a key has visible ASCII characters")
        }
    }

    // MARK: Responses that are not sealed

    /// Returns the code in the JSON of a response; `nil` if it has none, or if no code is of interest.
    func code(in response: APIResponse) -> ServerCode? {
        guard !expiredCodes.isEmpty || !clearCodes.isEmpty, response.file == nil, !response.body.isEmpty else {
            return nil
        }
        guard let json = try? JSONValue(damaged: response.body) else { return nil }
        return ServerCode(in: json, at: codeKey)
    }

    /// Returns whether a response means that the server does not know the key.
    func isExpiry(_ response: APIResponse, _ code: ServerCode?) -> Bool {
        expiredStatuses.contains(response.status) || code.map(expiredCodes.contains) == true
    }

    /// Returns whether a response may be one that is not sealed.
    func isClear(_ response: APIResponse, _ code: ServerCode?) -> Bool {
        clearStatuses.contains(response.status) || code.map(clearCodes.contains) == true
    }
}
