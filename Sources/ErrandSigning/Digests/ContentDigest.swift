public import Errand
public import Foundation

extension Adapter<APIResponse> {
    /// Fails a load whose content is not that of the response's `Repr-Digest` (RFC 9530), with `invalidResponse`.
    ///
    /// ```swift
    /// service.adapters.response.append(.reprDigest)
    /// ```
    ///
    /// Compares the SHA-512 or else the SHA-256 of a body in memory or in a file; other algorithms are not secure, and are
    /// ignored. For a download that was continued, the digest is that of the whole file. A file whose digest is another is
    /// removed, also its part, so that the next load begins again.
    ///
    /// Not compared: a response without the header line or with a malformed one, one that is not 2xx, one without a body, one
    /// with a content coding, which is decoded by then, a 206 to a `Range` of the app, a sealed one, and one that streams.
    public static var reprDigest: Adapter<APIResponse> {
        Adapter("Adapter.reprDigest") { response, context in
            guard response.headers["Content-Encoding"] == nil,
                let (digest, expected) = ReprDigest.strongest(in: response.headers.values("Repr-Digest"))
            else { return }
            try response.check(digest, is: expected, in: context)
        }
    }

    /// Fails a load whose content has another SHA-256 than `digest`, for example one of a manifest, with `invalidResponse`.
    ///
    /// For the ``APIRequestOptions/adapters`` of one request. Otherwise as ``reprDigest``; a content coding is decoded before.
    ///
    /// - Parameter digest: The 32 bytes of the expected digest.
    /// - Returns: The adapter.
    public static func sha256(_ digest: Data) -> Adapter<APIResponse> {
        Adapter("Adapter.sha256") { response, context in
            try response.check(.sha256, is: Array(digest), in: context)
        }
    }
}

/// A dictionary of digests as `Repr-Digest` has it (RFC 9530 section 3): `sha-256=:<base64>:, sha-512=:<base64>:`.
enum ReprDigest {
    /// Returns the strongest digest that can be computed here.
    static func strongest(in lines: [String]) -> (Digest, [UInt8])? {
        let members = lines.flatMap { $0.split(separator: ",") }
        let digests = members.reduce(into: [String: [UInt8]]()) { digests, member in
            // The last one of a key counts (RFC 9651 section 4.2.2).
            guard let match = member.wholeMatch(of: /\s*([a-z0-9*_.-]+)\s*=\s*:([A-Za-z0-9+\/=]*):\s*(?:;.*)?/),
                // Without padding as well (RFC 9651 section 4.2.7).
                let bytes = Data(base64Encoded: match.2 + String(repeating: "=", count: -match.2.count & 3))
            else { return }
            digests[String(match.1)] = Array(bytes)
        }
        return digests["sha-512"].map { (.sha512, $0) } ?? digests["sha-256"].map { (.sha256, $0) }
    }
}

extension APIResponse {
    fileprivate func check(_ digest: Digest, is expected: [UInt8], in context: AdapterContext) throws {
        // A part that continues a file is in it.
        let isPart = status == 206 && (file == nil || context.request?.headers["Range"] != nil)
        guard isSuccess, ![204, 205].contains(status), !isPart, !isStreamed, context.method != .head else { return }
        guard try hash(digest) != expected else { return }
        let reason = "the content does not have the expected \(digest) digest"
        throw APIError(.invalidResponse, reason: reason, underlying: DigestMismatch())
    }

    /// An error is one of the app or of the disk, after which a download keeps what it has.
    private func hash(_ digest: Digest) throws -> [UInt8] {
        do {
            guard let file else { return try digest.hash(of: body) }
            var hash = try PlatformCrypto.RunningHash(digest)
            try hash.add(FileDescriptor.regularFile(file))
            return try hash.finish()
        } catch let error as SigningError {
            throw APIError(.invalidRequest, error: error)
        } catch  where !(error is CancellationError) {
            throw APIError(.storage, reason: "the file cannot be read to compare its digest", underlying: error)
        }
    }
}
