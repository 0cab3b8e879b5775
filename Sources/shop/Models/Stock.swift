/// How many pieces of an article are in stock.
struct Stock: Decodable, Sendable {
    let goodsID: Int
    let stock: Int
}
