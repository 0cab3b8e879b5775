import Errand
import Foundation

/// The parts of a request that AWS Signature Version 4 signs, as they are sent.
struct UnsignedRequest {
    let method: String
    let path: ArraySlice<UInt8>
    let query: ArraySlice<UInt8>
    /// The header lines that are signed, `host` included.
    let fields: [CanonicalHeaders.Field]
    /// The hash of the body in hexadecimal digits, or the text that replaces it.
    let payloadHash: [UInt8]

    fileprivate var payloadText: String { String(decoding: payloadHash, as: UTF8.self) }
}

/// The signature of one request, with what it was computed of.
struct RequestSignature {
    let canonicalRequest: [UInt8]
    let stringToSign: [UInt8]
    /// The signature in hexadecimal digits.
    let signature: String
    /// The header lines that the request is sent with in addition.
    let fields: [(name: String, value: String)]
    /// The query that the request is sent with.
    let query: [UInt8]
}

/// Signs requests of one moment by AWS Signature Version 4.
///
/// See "Create a signed AWS API request" in the AWS Identity and Access Management User Guide.
struct SignatureV4 {
    static let algorithm = "AWS4-HMAC-SHA256"
    /// What a signature adds to a query.
    static let queryNames: Set = [
        "X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-Security-Token", "X-Amz-Signature",
        "X-Amz-SignedHeaders",
    ]

    let credentials: AWSCredentials
    let scope: CredentialScope
    let key: [UInt8]
    let path: CanonicalPath
    /// Whether the token of the session is signed; it is sent in any case.
    var signsSessionToken = true
    /// Whether the hash of the body is sent, as `X-Amz-Content-Sha256`.
    var sendsPayloadHash = false

    func signHeader(of request: UnsignedRequest) throws(SigningError) -> RequestSignature {
        var fields = [(name: "X-Amz-Date", value: scope.moment)]
        if sendsPayloadHash { fields.append(("X-Amz-Content-Sha256", request.payloadText)) }
        let token = credentials.sessionToken.map { (name: "X-Amz-Security-Token", value: $0) }
        if let token, signsSessionToken { fields.append(token) }
        var signed = request.fields
        for (name, value) in fields { signed.append(Self.field(name, value)) }
        let headers = CanonicalHeaders(signed)
        let (canonical, text) = try texts(of: request, query: request.query, headers: headers)
        let signature = try PlatformCrypto.hmacSHA256(of: text, key: key).hexadecimal
        if let token, !signsSessionToken { fields.append(token) }
        fields.append(("Authorization", authorization(names: headers.names, signature: signature)))
        return RequestSignature(
            canonicalRequest: canonical,
            stringToSign: text,
            signature: signature,
            fields: fields,
            query: Array(request.query)
        )
    }

    /// Signs in the query, for `expiry` seconds.
    func signQuery(of request: UnsignedRequest, expiry: Int) throws(SigningError) -> RequestSignature {
        let hash = sendsPayloadHash ? [(name: "X-Amz-Content-Sha256", value: request.payloadText)] : []
        let headers = CanonicalHeaders(request.fields + hash.map(Self.field))
        var query = Array(request.query)
        query.appendPair("X-Amz-Algorithm".utf8, Self.algorithm.utf8)
        query.appendPair("X-Amz-Credential".utf8, credential.utf8)
        query.appendPair("X-Amz-Date".utf8, scope.moment.utf8)
        query.appendPair("X-Amz-SignedHeaders".utf8, headers.names)
        query.appendPair("X-Amz-Expires".utf8, String(expiry).utf8)
        var sent = query
        if let token = credentials.sessionToken { sent.appendPair("X-Amz-Security-Token".utf8, token.utf8) }
        let (canonical, text) = try texts(of: request, query: (signsSessionToken ? sent : query)[...], headers: headers)
        let signature = try PlatformCrypto.hmacSHA256(of: text, key: key).hexadecimal
        sent.appendPair("X-Amz-Signature".utf8, signature.utf8)
        return RequestSignature(
            canonicalRequest: canonical,
            stringToSign: text,
            signature: signature,
            fields: hash,
            query: sent
        )
    }

    private static func field(_ name: String, _ value: String) -> CanonicalHeaders.Field {
        (name.utf8.map(\.asciiLowercased), Array(value.utf8))
    }

    private func authorization(names: [UInt8], signature: String) -> String {
        let names = String(decoding: names, as: UTF8.self)
        return "\(Self.algorithm) Credential=\(credential), SignedHeaders=\(names), Signature=\(signature)"
    }

    private var credential: String { "\(credentials.accessKeyID)/\(scope.text)" }

    private func texts(
        of request: UnsignedRequest,
        query: ArraySlice<UInt8>,
        headers: CanonicalHeaders
    ) throws(SigningError) -> (canonical: [UInt8], toSign: [UInt8]) {
        let parts = [
            Array(request.method.utf8), path.bytes(of: request.path), CanonicalQuery(query).bytes, headers.lines,
            headers.names, request.payloadHash,
        ]
        let canonical = Array(parts.joined(separator: "\n".utf8))
        let hash = try Digest.sha256.hash(of: canonical).hexadecimal
        let text = Array("\(Self.algorithm)\n\(scope.moment)\n\(scope.text)\n\(hash)".utf8)
        return (canonical, text)
    }
}
