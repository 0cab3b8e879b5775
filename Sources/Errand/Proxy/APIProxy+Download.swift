import Foundation

extension APIProxy {
    /// Sends a request whose answer goes to a file: beside its place at first, and there when nobody refuses it.
    ///
    /// So neither the JSON of a refusal nor a cancelled load takes the place of what was there before.
    func download<Value>(
        _ request: HTTPRequest,
        to target: URL,
        for call: APICall<Value>
    ) async throws(APIError) -> APIResponse {
        var request = request
        let place = target.deletingLastPathComponent().appendingPathComponent(".\(UUID().uuidString).download")
        request.destination = .file(place)
        let response = try await exchange(request, for: call.service, progress: call.progress)
        guard let file = response.file else { return response }
        defer { unlink(file.path) }
        if let refusal = response.shortJSON { try call.service.checkEnvelope(of: refusal) }
        guard isActive(call.id) else { throw APIError(.cancelled) }
        guard rename(file.path, target.path) == 0 else {
            let error = SystemError.last("rename")
            let reason = "\(target.lastPathComponent) cannot be written (\(error.reason))"
            throw APIError(TransportError(.storage, reason, underlying: error), service: call.service)
        }
        return response.having(file: target)
    }
}

extension APIResponse {
    /// No refusal is longer.
    private static let longestRefusal = 1 << 20

    /// This answer with its body in memory, where its file may hold an envelope instead of what was asked for.
    fileprivate var shortJSON: APIResponse? {
        guard isJSON, let file, let size = try? file.resourceValues(forKeys: [.fileSizeKey]).fileSize,
            size <= Self.longestRefusal, let body = try? Data(contentsOf: file)
        else { return nil }
        return having(body: body)
    }

    fileprivate func having(body: Data = Data(), file: URL? = nil) -> APIResponse {
        let answer = HTTPResponse(status: status, headers: headers, body: body, file: file)
        return APIResponse(answer, url: url, redirects: redirects, duration: duration)
    }
}
