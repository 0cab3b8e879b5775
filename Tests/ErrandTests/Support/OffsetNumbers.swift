import Errand

/// The list of the numbers of a ``NumberServer``, by offset.
final class OffsetNumbers: PageAPIRequest<[Int]>, APIManager {
    let path = "/numbers"
    let method = HTTPMethod.get
    override var strategy: any PageStrategy { .offset(limit: 10) }
    override var itemID: ItemID<Int>? { ItemID(\.self) }
}
