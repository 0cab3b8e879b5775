import Errand

/// One page of the orders, as the shop sends it.
struct OrderPage: PageResponse, Sendable {
    let list: [Order]
    let totalPage: Int
    let totalRow: Int

    var items: [Order] { list }
    var totalItems: Int? { totalRow }
    var totalPages: Int? { totalPage }
}
