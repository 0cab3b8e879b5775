@testable import Errand

extension RequestDraft {
    /// The request of this draft for a service.
    func request(for service: APIService, with common: CommonValues = CommonValues()) throws(APIError) -> HTTPRequest {
        try RequestBuilder(self, for: service).request(with: common)
    }
}
