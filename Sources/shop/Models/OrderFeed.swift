/// The newest orders.
struct OrderFeed: Decodable, Sendable {
    let list: [Order]
}
