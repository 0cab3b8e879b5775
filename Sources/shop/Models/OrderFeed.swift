import Errand

/// The newest orders, with a cursor to older ones.
struct OrderFeed: PageResponse, Sendable {
    let list: [Order]
    let nextCursor: String?

    var items: [Order] { list }
}
