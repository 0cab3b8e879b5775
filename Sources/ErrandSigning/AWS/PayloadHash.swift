import Errand
import Foundation

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
        guard let first = body.pieces.first else { return ofNoBytes }
        if body.pieces.count == 1, case .data(let data) = first {
            return data.isEmpty ? ofNoBytes : try Digest.sha256.hash(of: data).hexadecimalBytes
        }
        var hash = try PlatformCrypto.RunningHash(.sha256)
        for piece in body.pieces { try add(piece, to: &hash) }
        return try hash.finish().hexadecimalBytes
    }

    private static func add(_ piece: HTTPBody.Piece, to hash: inout PlatformCrypto.RunningHash) throws {
        switch piece {
        case .data(let data): try hash.add(data)
        case .file(let url): try addFile(url, to: &hash)
        case .stream:
            let reason =
                "the body is a stream, which cannot be hashed before; AWSSignature.payload can be .unsigned"
            throw APIError(.invalidRequest, error: SigningError(.unsupportedRequest, reason: reason))
        }
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
