import Errand

/// Counts the cancelled loads and the loads with another ending.
@MainActor final class CancelWitness: APIManagerCallbackDelegate {
    private(set) var cancelled = 0
    private(set) var others = 0

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) { others += 1 }
    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) { others += 1 }
    func managerCallAPIDidCancel(_ request: BaseAPIRequest) { cancelled += 1 }
}
