@testable import Errand

extension BaseAPIRequest {
    /// Waits for the ending of a load that this call has not begun.
    func ending(of id: RequestID) async -> Result<any Sendable, APIError> {
        await ending(of: id, for: LoadCaller(of: id, in: proxy, ifLeft: .failure(APIError(.cancelled))))
    }
}
