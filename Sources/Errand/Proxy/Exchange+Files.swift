import Foundation

/// The files that bodies are stored in.
extension Exchange {
    /// What is stored in memory does not count.
    func ofFile(_ progress: TransferProgress.Handler?, accepting statuses: Set<Int>) -> TransferProgress.Handler? {
        guard let progress else { return nil }
        return { [head, part] report in
            guard report.direction == .download else { return progress(report) }
            let status = head.value?.status ?? 200
            let isOfFile = (200..<300).contains(status) || statuses.contains(status)
            let counted = if let part { part.progress(report) } else { isOfFile ? report : nil }
            if let counted { progress(counted) }
        }
    }

    /// Sends what the server has to send again with another attempt of the load, without the file.
    @inline(never) func resumedResponse(
        _ resumption: Resumption,
        accepting statuses: Set<Int>,
        _ progress: TransferProgress.Handler?
    ) async throws(TransportError) -> APIResponse {
        let file = try PartialFile(for: first.destination, of: resumption.resource, session)
        guard let id, proxy.loads.setFile(file, of: id) else { throw .cancelledUnsent }
        for line in try await file.open() { current.headers[line.name] = line.value }
        (part, current.destination) = (file, .stream(HTTPBodySink(file)))
        let response: APIResponse
        do throws(TransportError) {
            response = try await self.response(ofFile(progress, accepting: statuses))
        } catch {
            throw file.mustStartAgain ? error.askingForRetry : error
        }
        if !response.isStreamed, response.isSuccess, ![204, 205].contains(response.status) {
            // It may be a failure in the place of the rest: it is read in memory, and the part is kept.
            guard resumption.isComplete(response) else {
                return try store(response, in: file, isStored: false, accepting: [])
            }
            try file.refusePage(response.headers)
            let count = Int64(response.body.count)
            progress?(TransferProgress(.download, completedBytes: count, totalBytes: count))
            return try store(response, in: file, isStored: false, accepting: [response.status])
        }
        return try store(response, in: file, isStored: response.isStreamed, accepting: statuses)
    }

    /// Returns a stored response as that of the request; `body` goes to its file, if it has one; `nil` if the body is damaged.
    @inline(never) func stored(
        _ response: APIResponse,
        _ body: CacheBody?,
        accepting statuses: Set<Int>
    ) throws(APIError) -> APIResponse? {
        do throws(TransportError) {
            let file = try stage()
            guard response.isSuccess, ![204, 205].contains(response.status) else {
                return try store(response, in: file, isStored: false, accepting: statuses)
            }
            if let body, try !file.write(body) {
                if let id { proxy.loads.discardFile(of: id) }
                return nil
            }
            return try store(response, in: file, isStored: body != nil, accepting: [response.status])
        } catch {
            throw failure(error)
        }
    }

    /// Another file than the part, which is kept unless the load succeeds with that.
    @inline(never) func stage() throws(TransportError) -> StagedFile {
        guard let id else { throw TransportError(.invalidRequest, "loads that write a file share no exchange") }
        let place = if let part { part.place } else { try FilePlace(first.destination) }
        let file = StagedFile(at: place, replacing: part)
        // In the table before it is on the disk, so that a cancel in between prevents it.
        guard proxy.loads.setFile(file, of: id), try file.make() else { throw .cancelledUnsent }
        current.destination = .file(file.url)
        return file
    }

    /// Writes the file if the transport has not.
    @inline(never) func store(
        _ response: APIResponse,
        in file: any LoadFile,
        isStored: Bool,
        accepting statuses: Set<Int>
    ) throws(TransportError) -> APIResponse {
        let isAccepted = statuses.contains(response.status)
        // A response that never has content is to empty no older file (RFC 9110 sections 9.3.2, 15.3.5, 15.3.6 and 15.4.5).
        let hasContent = first.method != .head && ![204, 205, 304].contains(response.status)
        if hasContent, isStored || isAccepted {
            file.place.setName(from: response.headers, url: response.url, former: part?.name)
            if isStored { return response.withContent(file: file.location) }
            let staged = if let file = file as? StagedFile { file } else { try stage() }
            try staged.write(response.body)
            return response.withContent(file: staged.location)
        }
        if let id { proxy.loads.discardFile(of: id) }
        if isStored { return response.withContent() }
        guard isAccepted, response.status == 304 else { return response }
        // It describes the existing file (RFC 9110 section 15.4.5).
        let hasFile = FileManager.default.fileExists(atPath: file.target.path)
        return hasFile ? response.withContent(file: FileLocation(file.target)) : response
    }
}

/// What continues a partial file: what that is one of, and whether the body of a response is the file, and not JSON with a failure.
typealias Resumption = (resource: URL, isComplete: (APIResponse) -> Bool)
