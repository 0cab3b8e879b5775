import Foundation
import Synchronization

extension APIProxy {
    /// Sends the request of a load; an answer that goes to a file is staged beside its target until the load ends.
    ///
    /// So neither a refusal nor a cancelled load takes the place of what was there before.
    func exchange(
        _ request: HTTPRequest,
        of id: RequestID,
        for service: APIService?,
        progress: TransferProgress.Handler?
    ) async throws(APIError) -> APIResponse {
        guard case .file(let target) = request.destination else {
            return try await exchange(request, for: service, progress: progress)
        }
        let file = try stagedFile(for: target, of: id, service)
        var request = request
        request.destination = .file(file.url)
        let response = try await exchange(request, for: service, progress: progress)
        // The answer is in memory: its status is not 2xx.
        if response.file != file.url { discardFile(of: id) }
        return response
    }

    /// Removes what an attempt of the load has left on the disk.
    func discardFile(of id: RequestID) {
        let file = state.take { state in
            let file = state.loads[id]?.file
            state.loads[id]?.file = nil
            return file
        }
        file?.remove()
    }

    /// A file that ends with the load.
    private func stagedFile(
        for target: URL,
        of id: RequestID,
        _ service: APIService?
    ) throws(APIError) -> StagedFile {
        do throws(TransportError) {
            let file = try StagedFile(for: target)
            // In the table before it is on the disk, so that a cancel in between keeps it from there.
            let isActive = state.withLock { state in
                state.loads[id]?.file = file
                return state.loads[id] != nil
            }
            guard isActive, try file.make() else { throw TransportError(.cancelled, "cancelled before it was sent") }
            return file
        } catch {
            throw APIError(error, service: service)
        }
    }
}

extension StagedFile {
    /// Ends the file as its load ends, and returns the ending: a success moves the file to its target, or fails if it cannot.
    ///
    /// To be called by the owner of the load's ending, when no cancel can take effect any more.
    func end<Value>(with ending: Result<Value, APIError>, of service: APIService?) -> Result<Value, APIError> {
        do throws(APIError) {
            let value = try ending.get()
            do throws(TransportError) { try commit() } catch { throw APIError(error, service: service) }
            return .success(moved(value))
        } catch {
            remove()
            return .failure(error.withoutFile)
        }
    }

    /// A value that names the staged file, changed to name its target.
    func moved<Value>(_ value: Value) -> Value {
        switch value {
        case let file as DownloadedFile where file.url == url: DownloadedFile(url: target) as? Value ?? value
        case let response as APIResponse where response.file == url:
            response.having(file: target) as? Value ?? value
        default: value
        }
    }
}

extension APIError {
    /// This error without the answer's file, which a load that fails does not keep.
    var withoutFile: APIError {
        guard let response, response.file != nil else { return self }
        return answered(with: response.withoutFile)
    }
}

extension APIResponse {
    /// No refusal is longer.
    private static let longestRefusal = 1 << 20

    /// This answer with its body in memory, where its file may hold an envelope instead of what was asked for.
    var shortJSON: APIResponse? {
        guard isJSON, let file, let size = try? file.resourceValues(forKeys: [.fileSizeKey]).fileSize,
            size <= Self.longestRefusal, let body = try? Data(contentsOf: file)
        else { return nil }
        return having(body: body)
    }

    /// This answer without its file.
    var withoutFile: APIResponse { file == nil ? self : having(body: body) }

    fileprivate func having(body: Data = Data(), file: URL? = nil) -> APIResponse {
        let answer = HTTPResponse(status: status, headers: headers, body: body, file: file)
        return APIResponse(answer, url: url, redirects: redirects, duration: duration)
    }
}
