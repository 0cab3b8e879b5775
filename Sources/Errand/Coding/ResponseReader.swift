import Foundation

/// Reads the response to one load: its failure, or its value.
struct ResponseReader<Value: Sendable>: Sendable {
    let serializer: ResponseSerializer<Value>
    let service: APIService
    /// The statuses besides 2xx with which the load succeeds.
    let statuses: Set<Int>

    // Not inlined: that increases the memory of each load in progress.
    @inline(never) func answer(in response: APIResponse) throws(APIError) -> APIAnswer<Value> {
        var response = try checked(response)
        let value = try serializer.value(of: &response, from: service, accepting: statuses)
        return APIAnswer(value: value, response: response)
    }

    /// Returns the value of a response whose data are adapted before they are decoded.
    func answer(
        in response: APIResponse,
        adaptedIn context: AdapterContext
    ) async throws(APIError) -> APIAnswer<Value> {
        var response = try checked(response)
        guard let part = try serializer.decodedData(of: response, from: service, accepting: statuses) else {
            return try value(of: response)
        }
        let data = try await service.adapted(part.data, of: response, in: context)
        guard !Task.isCancelled else { throw APIError(.cancelled) }
        guard data != part.data else { return try value(of: response) }
        guard let body = part.body(with: data) else {
            throw APIError(.decoding, response: response).explained(byAdapted: data)
        }
        response.body = body
        do throws(APIError) {
            return try value(of: response)
        } catch {
            throw error.explained(byAdapted: data)
        }
    }

    private func value(of response: APIResponse) throws(APIError) -> APIAnswer<Value> {
        var response = response
        let value = try serializer.value(of: &response, from: service)
        return APIAnswer(value: value, response: response)
    }

    /// Returns a response with the code and message of its file.
    ///
    /// - Throws: The failure in the file.
    private func checked(_ response: APIResponse) throws(APIError) -> APIResponse {
        guard var refusal = response.shortJSON ?? response.refusalWithoutFile else { return response }
        if let failure = serializer.failure(of: refusal, from: service, accepting: statuses) { throw failure }
        try service.checkEnvelope(of: &refusal)
        return response.withStatement(of: refusal)
    }
}

/// A decoded answer and the raw one.
struct APIAnswer<Value: Sendable>: Sendable {
    let value: Value
    let response: APIResponse
}

extension APIResponse {
    /// The size of the largest envelope that is looked for in a file.
    private static let longestEnvelope = 1 << 20

    /// This answer with its body in memory, if its file is short and JSON or an object of another `Content-Type`, which may be an
    /// envelope with a failure.
    fileprivate var shortJSON: APIResponse? {
        // The file of a 304 is that of an earlier answer.
        guard let file, status != 304, let size = try? file.resourceValues(forKeys: [.fileSizeKey]).fileSize,
            size <= Self.longestEnvelope, let body = try? Data(contentsOf: file)
        else { return nil }
        let response = withContent(body: body)
        return isJSON || response.beginsLikeObject ? response : nil
    }

    /// This answer without its file, if its status is not 2xx and it has one.
    fileprivate var refusalWithoutFile: APIResponse? { file == nil || isSuccess ? nil : withoutFile }
}
