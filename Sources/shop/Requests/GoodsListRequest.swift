import Errand

/// Loads the goods of a category.
final class GoodsListRequest: BaseAPIRequest, APIManager {
    typealias Response = [Goods]
    let path = "/mall/shopList"
    let method = HTTPMethod.post
}
