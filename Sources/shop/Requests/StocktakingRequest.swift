import Errand

/// A request that the shop refuses: HTTP 200 with a business code.
final class StocktakingRequest: BaseAPIRequest, APIManager {
    typealias Response = Void
    let path = "/broken-business"
    let method = HTTPMethod.get
}
