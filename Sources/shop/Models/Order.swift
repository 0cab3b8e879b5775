import Foundation

/// An order of the customer.
struct Order: Decodable, Sendable {
    let id: Int
    let title: String
    let count: Int
    let amount: String
    let status: String
    let placedAt: Date
}
