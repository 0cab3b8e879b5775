#if canImport(Darwin)
import Foundation

// Untested.
extension HTTPBody {
    /// Whether a part is stored in a temporary file before it is sent: a file could change while it is sent, and a session reads
    /// several pieces only from one file.
    var isStoredForURLSession: Bool { pieces.contains { $0.data == nil } }
}

extension URLSession {
    /// Creates the task of an exchange, whose body is in memory or in one file; the session sends its length.
    func task(with request: URLRequest, for exchange: URLSessionExchange) -> URLSessionTask {
        guard exchange.bodyBytes > 0 else { return dataTask(with: request) }
        let pieces = exchange.request.body.pieces
        if case .file(let file) = pieces.first { return uploadTask(with: request, fromFile: file) }
        let parts = pieces.compactMap(\.data)
        // A single part is not copied.
        return uploadTask(with: request, from: parts.count == 1 ? parts[0] : Data(parts.joined()))
    }
}
#endif
