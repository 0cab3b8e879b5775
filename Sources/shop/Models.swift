import Errand
import Foundation

/// The credentials of a customer.
struct Credentials: Encodable, Sendable {
    let account: String
    let password: String

    /// The credentials of a customer in the shop's data.
    static let demo = Credentials(account: "lin", password: "errand-1")
}

/// The shop's response to a sign-in.
struct SignedIn: Decodable, Sendable {
    let token: String
    let nickname: String
}

/// The profile of the signed-in customer.
struct Profile: Decodable, Sendable {
    let account: String
    let nickname: String
}

/// The shop's description of an uploaded picture.
struct StoredPicture: Decodable, Sendable {
    let filename: String
    let bytes: Int
    let sha256: String
}

/// An article of the shop.
struct Goods: Decodable, Sendable {
    let id: Int
    let name: String
    let price: String
    let stock: Int

    /// The URL of a view of it.
    func picture(_ view: Int, at baseURL: URL) -> URL {
        let query = [URLQueryItem(name: "view", value: "\(view)")]
        return baseURL.appending(path: "goods/\(id)/picture").appending(queryItems: query)
    }
}

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

/// An order of the customer.
struct Order: Decodable, Sendable {
    let id: Int
    let title: String
    let count: Int
    let amount: String
    let status: String
    let placedAt: Date
}

/// One page of the orders, as the shop sends it.
struct OrderPage: PageResponse, Sendable {
    let list: [Order]
    let totalPage: Int
    let totalRow: Int

    var items: [Order] { list }
    var totalItems: Int? { totalRow }
    var totalPages: Int? { totalPage }
}

/// The newest orders, with a cursor to older ones.
struct OrderFeed: PageResponse, Sendable {
    let list: [Order]
    let nextCursor: String?

    var items: [Order] { list }
}

/// How many pieces of an article are in stock.
struct Stock: Decodable, Sendable {
    let goodsID: Int
    let stock: Int
}

/// The shop's part of a session key.
struct WalletKey: Decodable, Sendable {
    let id: String
    let nonce: String
}

/// The receipt of a payment.
struct Receipt: Decodable, Sendable {
    let order: Int
    let amount: String
    let receipt: String
}

/// A station on the way of an order.
struct Station: Codable, Sendable {
    let number: Int
    let text: String
}
