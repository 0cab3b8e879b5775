/// Somebody who awaits the ending of a load.
struct Caller {
    let id: RequestID
    let continuation: CheckedContinuation<Result<any Sendable, APIError>, Never>
}

extension BaseAPIRequest {
    /// How the load ends; cancelling the task cancels the load.
    func ending(of id: RequestID) async -> Result<any Sendable, APIError> {
        await withTaskCancellationHandler {
            await withCheckedContinuation { callers.append(Caller(id: id, continuation: $0)) }
        } onCancel: { [proxy] in
            proxy.cancelRequest(id)
        }
    }
}
