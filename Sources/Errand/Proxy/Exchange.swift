import Foundation

/// One request on the wire, with its redirects and their cookies.
///
/// A class, because each asynchronous function would reserve memory for several copies of a structure.
final class Exchange: Sendable {
    /// The load that it is for; `nil` when several loads share it.
    private let id: RequestID?
    private let cookies: CookieJar
    /// The host in whose lane it has queued; `nil` for a login request.
    private let host: String?
    private let context: LoadContext
    /// Emits its events; `nil` without monitors.
    private let trace: ExchangeTrace?

    init(
        id: RequestID?,
        cookies: CookieJar,
        host: String?,
        context: LoadContext,
        trace: ExchangeTrace?
    ) {
        self.id = id
        self.cookies = cookies
        self.host = host
        self.context = context
        self.trace = trace
    }

    /// Sends a request, follows its redirects with the cookies for each of them, and returns the answer.
    ///
    /// An answer for a file is staged beside its target until the load ends, so that neither a refusal nor a cancelled
    /// load replaces an older file.
    /// Besides the body of a 2xx, that of one of `statuses` is stored there, except of a 304, which has none.
    func send(
        _ request: HTTPRequest,
        storing statuses: Set<Int> = [],
        progress: TransferProgress.Handler?
    ) async throws(APIError) -> APIResponse {
        guard case .file(let target) = request.destination else { return try await answer(to: request, progress) }
        return try await answer(to: request, in: target, storing: statuses, progress)
    }

    @inline(never) private func answer(
        to request: HTTPRequest,
        in target: URL,
        storing statuses: Set<Int>,
        _ progress: TransferProgress.Handler?
    ) async throws(APIError) -> APIResponse {
        let file = try stage(target)
        var request = request
        request.destination = .file(file.url)
        let response = try await answer(to: request, progress)
        let (isStored, isAccepted) = (response.file == file.url, statuses.contains(response.status))
        // An answer that never has content is to empty no older file (RFC 9110 sections 9.3.2, 15.3.5, 15.3.6 and 15.4.5).
        let hasContent = request.method != .head && ![204, 205, 304].contains(response.status)
        if hasContent, isStored { return response.withContent(file: file.location) }
        if hasContent, isAccepted { return try store(response, in: file) }
        if let id { context.loads.discardFile(of: id) }
        if isStored { return response.withContent() }
        return isAccepted && response.status == 304 ? response.unmodified(target) : response
    }

    private func store(_ response: APIResponse, in file: StagedFile) throws(APIError) -> APIResponse {
        do throws(TransportError) {
            try file.write(response.body)
            return response.withContent(file: file.location)
        } catch {
            throw APIError(error)
        }
    }

    private func answer(
        to request: HTTPRequest,
        _ progress: TransferProgress.Handler?
    ) async throws(APIError) -> APIResponse {
        var chain = RedirectChain(request, cookies: cookies, host: host, context: context, trace: trace)
        do throws(TransportError) {
            while true {
                let response = try await context.transport.send(chain.request(), progress: progress)
                if let answer = try chain.receive(response) { return answer }
            }
        } catch {
            throw chain.failure(error)
        }
    }

    /// Makes a file that ends with the load.
    private func stage(_ target: URL) throws(APIError) -> StagedFile {
        do throws(TransportError) {
            guard let id else { throw TransportError(.invalidRequest, "loads that write a file share no exchange") }
            let file = try StagedFile(for: target)
            // In the table before it is on the disk, so that a cancel in between prevents it.
            guard context.loads.setFile(file, of: id), try file.make() else {
                throw TransportError(.cancelled, "cancelled before it was sent")
            }
            return file
        } catch {
            throw APIError(error)
        }
    }
}

extension APIResponse {
    /// This 304 with the existing file, which is what it describes (RFC 9110 section 15.4.5), if there is one.
    fileprivate func unmodified(_ file: URL) -> APIResponse {
        FileManager.default.fileExists(atPath: file.path) ? withContent(file: FileLocation(file)) : self
    }
}
