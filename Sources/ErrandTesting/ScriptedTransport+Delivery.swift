import Errand
import Foundation

extension ScriptedTransport {
    /// Reports that the whole body has been sent; reports nothing when there is no body.
    static func reportUpload(of body: HTTPBody, to progress: TransferProgress.Handler) {
        guard !body.isEmpty else { return }
        let bytes = body.pieces.reduce(0) { $0 + $1.byteCount }
        progress(TransferProgress(.upload, completedBytes: bytes, totalBytes: bytes))
    }
}

extension HTTPResponse {
    /// Returns this answer as a transport does: checked against the limit, reported, and written to its file.
    func delivered(
        to request: HTTPRequest,
        _ progress: TransferProgress.Handler?
    ) throws(TransportError) -> HTTPResponse {
        var answer = self
        if case .file(let file) = request.destination, (200..<300).contains(status) {
            answer = try written(to: file)
        } else if body.count > request.limits.bodyBytes {
            throw TransportError(.responseTooLarge, "the body is larger than \(request.limits.bodyBytes) bytes")
        }
        let bytes = Int64(body.count)
        if bytes > 0 { progress?(TransferProgress(.download, completedBytes: bytes, totalBytes: bytes)) }
        return answer
    }

    private func written(to file: URL) throws(TransportError) -> HTTPResponse {
        do {
            try body.write(to: file, options: .atomic)
        } catch {
            throw TransportError(.storage, "\(file.lastPathComponent) cannot be written", underlying: error)
        }
        var answer = self
        (answer.body, answer.file) = (Data(), file)
        return answer
    }
}

extension HTTPBody.Piece {
    fileprivate var byteCount: Int64 {
        switch self {
        case .data(let data): Int64(data.count)
        case .file(let file): (try? file.resourceValues(forKeys: [.fileSizeKey]).fileSize).map(Int64.init) ?? 0
        case .stream(let stream): stream.length ?? 0
        }
    }
}
