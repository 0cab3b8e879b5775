/// What is going to be bought.
struct Cart: Decodable, Sendable {
    /// One kind of goods in it.
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
