import Foundation

extension APIService {
    func adapt(_ params: APIParams?, in context: AdapterContext) async throws(APIError) -> APIParams? {
        try await adapt(params, "the parameters", by: adapters.params, context, or: .invalidRequest)
    }

    func adapt(_ request: HTTPRequest, in context: AdapterContext) async throws(APIError) -> HTTPRequest {
        try await adapt(request, "the request", by: adapters.request, context, or: .invalidRequest)
    }

    func adapt(_ response: APIResponse, in context: AdapterContext) async throws(APIError) -> APIResponse {
        let adapted = try await adapt(response, "the response", by: adapters.response, context, or: .decoding)
        guard adapted.file == nil || adapted.body.isEmpty else {
            let reason = "a response adapter has set the body of a response that is stored in a file"
            throw APIError(.decoding, reason: reason, response: response)
        }
        return adapted.withFile(of: response)
    }

    func adapt(_ data: Data, of response: APIResponse, in context: AdapterContext) async throws(APIError) -> Data {
        try await adapt(data, "the data", by: adapters.data, context, or: .decoding, of: response)
    }

    /// `failure` is the type of an error that is not one of this library.
    private func adapt<Subject>(
        _ subject: Subject,
        _ what: String,
        by adapters: [Adapter<Subject>],
        _ context: AdapterContext,
        or failure: APIErrorType,
        of response: APIResponse? = nil
    ) async throws(APIError) -> Subject {
        var subject = subject
        for adapter in adapters {
            do {
                guard !Task.isCancelled else { throw APIError(.cancelled) }
                subject = try await apply(adapter, to: subject, context)
            } catch {
                throw self.failure(error, of: adapter.name, adapting: what, as: failure)
                    .withResponse(ifMissing: subject as? APIResponse ?? response)
            }
        }
        return subject
    }

    private func apply<Subject>(
        _ adapter: Adapter<Subject>,
        to subject: Subject,
        _ context: AdapterContext
    ) async throws -> Subject {
        try await EnvironmentScope.$current.withValue(environment) {
            var changed = subject
            try await adapter.adapt(&changed, context)
            return changed
        }
    }

    /// An adapter may have the load sent again if `mayRetry` allows that, which counts it.
    func adapt(
        _ failure: APIError,
        in context: AdapterContext,
        mayRetry: () -> Bool
    ) async throws(APIError) -> (APIError, AdapterRetry?) {
        var error = failure
        for adapter in adapters.failure {
            guard !Task.isCancelled else { throw APIError(.cancelled) }
            do {
                error = try await apply(adapter, to: error, context)
            } catch let retry as AdapterRetry {
                if mayRetry() { return (error, retry) }
            } catch let thrown {
                let reason = "\(adapter.name) could not adapt the failure"
                error = self.failure(from: thrown, reason: reason, as: error.type)
                    .withResponse(ifMissing: failure.response)
            }
        }
        return (error, nil)
    }

    private func failure(
        _ error: any Error,
        of adapter: String,
        adapting what: String,
        as type: APIErrorType
    ) -> APIError {
        guard let retry = error as? AdapterRetry else {
            return failure(from: error, reason: "\(adapter) could not adapt \(what)", as: type)
        }
        let reason = "\(adapter) has thrown AdapterRetry, the second one of this load"
        return APIError(type, reason: reason, underlying: RequestedRetry(retry: retry))
    }
}

/// Below a failure after which the load is to be sent again.
private struct RequestedRetry: Error {
    let retry: AdapterRetry
}

extension TransportError {
    /// This error, after which the load is sent again once.
    var askingForRetry: TransportError {
        TransportError(kind, reason, underlying: RequestedRetry(retry: .again()))
    }
}

extension APIError {
    var requestedRetry: AdapterRetry? {
        ((underlying as? RequestedRetry) ?? (underlying as? TransportError)?.underlying as? RequestedRetry)?.retry
    }

    var withoutRequestedRetry: APIError {
        requestedRetry.map { caused(by: APIError(type, reason: reason, underlying: $0)) } ?? self
    }
}

/// Why an adapter has refused a content: it is another one than was announced, or none of the kind that was requested.
package struct DigestMismatch: Error {
    package init() {}
}
