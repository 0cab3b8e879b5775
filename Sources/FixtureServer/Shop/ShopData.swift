import Foundation

/// A customer of the shop.
struct ShopAccount: Codable, Sendable {
    let account: String
    let password: String
    let nickname: String
}

/// An article of the shop.
package struct ShopGoods: Codable, Sendable, Equatable {
    /// The number by which the cart refers to it.
    package let id: Int
    /// The number of its category.
    package let category: Int
    /// The name, in Chinese.
    package let name: String
    /// The price in yuan, as `12.50`.
    package let price: String
    /// The number in stock.
    package let stock: Int

    /// The price in hundredths.
    var cents: Int { Int(price.filter { $0 != "." }) ?? 0 }
}

/// An order.
package struct ShopOrder: Codable, Sendable, Equatable {
    /// The number of the order, and of its invoice.
    package let id: Int
    /// The name of the article.
    package let title: String
    /// The number of pieces.
    package let count: Int
    /// The amount in yuan, as `12.50`.
    package let amount: String
    /// The state of the order, in Chinese.
    package let status: String
    /// When the order was placed (RFC 3339).
    package let placedAt: String
}

/// The shop's data, read once from files.
struct ShopCatalog: Sendable {
    let accounts: [ShopAccount]
    let goods: [ShopGoods]
    let orders: [ShopOrder]

    /// Reads `accounts.json`, `goods.json` and `orders.json` in `directory`.
    init(_ directory: URL) throws {
        accounts = try Self.read("accounts.json", in: directory)
        goods = try Self.read("goods.json", in: directory)
        orders = try Self.read("orders.json", in: directory)
    }

    private static func read<Value: Decodable>(_ name: String, in directory: URL) throws -> Value {
        try JSONDecoder().decode(Value.self, from: Data(contentsOf: directory.appendingPathComponent(name)))
    }
}

/// The location of this package's data files.
package enum Fixtures {
    /// The folder `Fixtures` at the root of the package that these sources were compiled from.
    package static let directory = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent()
        .deletingLastPathComponent()
        .deletingLastPathComponent()
        .deletingLastPathComponent()
        .appendingPathComponent("Fixtures", isDirectory: true)
}
