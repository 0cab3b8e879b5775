/// One load on its way through the proxy: what to send, to whom, and how to read the answer.
struct APICall<Value: Sendable>: Sendable {
    let id: RequestID
    let service: APIService
    let draft: RequestDraft
    let serializer: ResponseSerializer<Value>
    let retryPolicy: RetryPolicy
    let priority: RequestPriority
    let isLoginRequest: Bool
    let joinsIdentical: Bool
    let progress: TransferProgress.Handler?

    /// Whether an expired login is renewed for this load.
    var renewsLogin: Bool { service.reloginHandler != nil && !isLoginRequest }

    /// Where the load queues; a login request does not, since those in the queue may wait for it.
    var place: RequestQueue.Place? {
        isLoginRequest ? nil : RequestQueue.Place(host: service.baseURL.authority, priority: priority)
    }
}

/// A decoded answer and the raw one.
struct APIAnswer<Value: Sendable>: Sendable {
    let value: Value
    let response: APIResponse
}
