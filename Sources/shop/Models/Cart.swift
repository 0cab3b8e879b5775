/// The contents of the cart.
struct Cart: Decodable, Sendable {
    /// One article in the cart.
    struct Line: Decodable, Sendable {
        let goodsID: Int
        let name: String
        let price: String
        let count: Int
    }

    let items: [Line]
    let count: Int
    let total: String
}
