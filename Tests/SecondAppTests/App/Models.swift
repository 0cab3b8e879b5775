import Errand
import Foundation

nonisolated struct User: Decodable {
    let username: String
}

nonisolated struct Token: Decodable {
    let token: String
}

nonisolated struct Book: Decodable, Equatable, Identifiable {
    let id: Int
    let title: String
    let isbn: String
    let cents: Int
}

nonisolated struct Picture: Decodable {
    let name: String
    let type: String
    let size: Int
    let caption: String
}

nonisolated struct Coupon: Decodable {
    let coupon: String
    let percent: Int
}

nonisolated struct Order: Decodable {
    let book: Int
    /// How often the server has refused an order because there were too many.
    let refusals: Int
}
