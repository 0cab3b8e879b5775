/// An article of the shop.
struct Goods: Decodable, Sendable {
    let id: Int
    let name: String
    let price: String
    let stock: Int
}
