import Errand
import Foundation

struct AWSSigner: SigningAdapter, LookupAdapter {
    private static let reserved = ["Authorization", "X-Amz-Date", "X-Amz-Security-Token", "X-Amz-Content-Sha256"]
    /// In lower case: those that a connection, a proxy server, the cache or a stream changes; comparing a few is faster than
    /// hashing.
    private static let unsigned =
        [
            "accept-encoding", "connection", "content-length", "cookie", "expect", "host", "te", "transfer-encoding",
            "upgrade", "user-agent", "x-amzn-trace-id",
            "if-modified-since", "if-none-match", "if-range", "last-event-id", "range",
        ].map { Array($0.utf8) }

    let options: AWSSignature
    var isSealed = false

    var adapter: Adapter<HTTPRequest> { Adapter(of: self) { try await adapt(&$0, context: $1) } }

    private func adapt(_ request: inout HTTPRequest, context: AdapterContext) async throws {
        guard !context.isOfLookup else {
            if let url = WireURL(request.url)?.withUsualAddress { request.url = url }
            return
        }
        // The server has copied what an earlier request had.
        if case .query = options.form, context.isOfLink,
            let url = WireURL(request.url)?.removingPairs(named: SignatureV4.queryNames)
        {
            request.url = url
        }
        try check(request)
        let credentials = try await options.credentials()
        try sign(&request, with: credentials, at: options.serverClock.date(for: context))
    }

    /// Signs a request with the credentials and the date of one moment, which is read once a file has been hashed.
    func sign(_ request: inout HTTPRequest, with credentials: AWSCredentials, at date: @autoclosure () throws -> Date)
        throws
    {
        if let url = WireURL(request.url)?.withUsualAddress { request.url = url }
        guard let url = WireURL(request.url) else { throw Self.error("the URL has no host") }
        let unsigned = UnsignedRequest(
            method: request.method.rawValue,
            path: url.path,
            query: url.query,
            fields: Self.fields(of: request.headers, host: url.host),
            payloadHash: options.payload == .unsigned ? PayloadHash.unsigned : try PayloadHash.text(of: request.body)
        )
        let signature = try signature(of: unsigned, with: credentials, at: try date())
        for (name, value) in signature.fields { request.headers.append(name, value) }
        guard options.form != .header || url.query.contains(UInt8(ascii: "+")) else { return }
        let query = signature.query.flatMap { $0 == UInt8(ascii: "+") ? Array("%20".utf8) : [$0] }
        guard let signed = url.replacingQuery(with: query) else { throw Self.error("the query cannot be signed") }
        request.url = signed
    }

    func signature(
        of request: UnsignedRequest,
        with credentials: AWSCredentials,
        at date: Date
    ) throws -> RequestSignature {
        do {
            let (scope, key) = try options.keys.scope(at: date, of: options, secret: credentials.secretAccessKey)
            let signer = SignatureV4(
                credentials: credentials,
                scope: scope,
                key: key,
                path: CanonicalPath(isNormalized: options.normalizesPath, isEncodedTwice: options.encodesPathTwice),
                signsSessionToken: options.signsSessionToken,
                sendsPayloadHash: options.sendsPayloadHash || options.form == .header && options.payload == .unsigned
            )
            switch options.form {
            case .header: return try signer.signHeader(of: request)
            case .query(let expiry): return try signer.signQuery(of: request, expiry: Int(expiry.components.seconds))
            }
        } catch {
            throw APIError(.invalidRequest, error: error)
        }
    }

    /// Checks what the signature would have to replace.
    private func check(_ request: HTTPRequest) throws {
        for name in Self.reserved where request.headers[name] != nil {
            throw Self.error("the request has a header \(name), which AWSSignature adds")
        }
        guard case .query(let expiry) = options.form else { return }
        guard !isSealed else { throw Self.error("a sealed request has its query authenticated; use form = .header") }
        guard expiry >= .seconds(1), expiry <= .seconds(604_800) else {
            throw Self.error("the expiry of AWSSignature.form is \(expiry), and not between one second and seven days")
        }
        let names = request.url.query(percentEncoded: true)?.split(separator: "&") ?? []
        guard !names.contains(where: { $0.lowercased().hasPrefix("x-amz-signature=") }) else {
            throw Self.error("the query is signed already")
        }
    }

    private static func error(_ reason: String) -> APIError {
        APIError(.invalidRequest, error: SigningError(.unsupportedRequest, reason: reason))
    }

    private static func fields(of headers: HTTPHeaders, host: [UInt8]) -> [CanonicalHeaders.Field] {
        var fields: [CanonicalHeaders.Field] = []
        // With room for those that a signature adds.
        fields.reserveCapacity(headers.count + 4)
        fields.append((Array("host".utf8), host))
        for field in headers {
            let name = field.name.utf8.map(\.asciiLowercased)
            guard !unsigned.contains(name), !name.starts(with: "proxy-".utf8) else { continue }
            fields.append((name, field.bytes))
        }
        return fields
    }
}

/// Writes a plus sign in a query as a space, before the query is sealed or signed.
struct AWSQueryAdapter: Sendable {
    var adapter: Adapter<HTTPRequest> { Adapter(of: self) { request, _ in adapt(&request) } }

    private func adapt(_ request: inout HTTPRequest) {
        let plus = UInt8(ascii: "+")
        guard request.url.absoluteString.utf8.contains(plus) else { return }
        guard let url = WireURL(request.url), url.query.contains(plus) else { return }
        let query = url.query.flatMap { $0 == plus ? Array("%20".utf8) : [$0] }
        if let changed = url.replacingQuery(with: query) { request.url = changed }
    }
}

/// The hash of a request's body, as AWS Signature Version 4 signs it.
enum PayloadHash {
    /// What services that accept it read instead of the hash of a body.
    static let unsigned = Array("UNSIGNED-PAYLOAD".utf8)
    private static let ofNoBytes = Array("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855".utf8)

    /// Returns the hash of all pieces in hexadecimal digits; files are read in chunks.
    ///
    /// - Throws: An `APIError`: `invalidRequest` for a stream and for a file that cannot be opened, `storage` for one that
    ///   cannot be read to its end; `CancellationError` when the task is cancelled while a file is read.
    static func text(of body: HTTPBody) throws -> [UInt8] {
        guard !body.isEmpty else { return ofNoBytes }
        var hash = try PlatformCrypto.RunningHash(.sha256)
        for piece in body.pieces {
            switch piece {
            case .data(let data): try hash.add(data)
            case .file(let url): try addFile(url, to: &hash)
            case .stream:
                let reason =
                    "the body is a stream, which cannot be hashed before; AWSSignature.payload can be .unsigned"
                throw APIError(.invalidRequest, error: SigningError(.unsupportedRequest, reason: reason))
            }
        }
        return try hash.finish().hexadecimalBytes
    }

    private static func addFile(_ url: URL, to hash: inout PlatformCrypto.RunningHash) throws {
        let file: FileDescriptor
        do {
            file = try FileDescriptor.regularFile(url)
        } catch {
            let reason = "a file of the body cannot be opened to sign it"
            throw APIError(.invalidRequest, reason: reason, underlying: error)
        }
        do {
            try hash.add(file)
        } catch  where error is CancellationError || error is SigningError {
            throw error
        } catch {
            throw APIError(.storage, reason: "a file of the body cannot be read to sign it", underlying: error)
        }
    }
}

extension APIError {
    /// Creates the error of a load that cannot be signed, with the reason of `error`.
    init(_ type: APIErrorType, error: SigningError) {
        self.init(type, reason: error.reason, underlying: error)
    }
}
