import Errand
import Foundation

/// Something in a list of goods.
struct Goods: Codable, Sendable {
    let id: Int
    let name: String
    let price: String
    let stock: Int
}

extension Goods {
    /// How many there are in a list.
    static let count = 20
    /// The answer to every request that is compared: a list of 2 KB in its envelope.
    static let answerBytes = [UInt8](answer.utf8)
    /// Where it is; the parameters stand in the query.
    static let path = "/mall/shopList"

    /// An answer as those decode it who know of no layer.
    private struct Enveloped: Decodable {
        let errcode: Int
        let msg: String?
        let data: [Goods]
    }

    /// Decodes an answer and sees whether it is whole.
    static func check(_ body: Data, _ decoder: JSONDecoder) throws {
        let answer = try decoder.decode(Enveloped.self, from: body)
        guard answer.errcode == 200, answer.data.count == count else {
            throw BenchFailure("the answer is not the list of goods")
        }
    }

    private static var answer: String { enveloped(1001...1000 + count) }

    private static func enveloped(_ ids: ClosedRange<Int>) -> String {
        let list = ids.map { id in
            let amounts = #""price":"\#(id % 90 + 10).50","stock":\#(id % 70)"#
            return #"{"id":\#(id),"category":7,"name":"宜兴紫砂壶 西施壶 220ml \#(id)",\#(amounts)}"#
        }
        return #"{"errcode":200,"msg":"ok","data":[\#(list.joined(separator: ","))]}"#
    }
}

extension Goods {
    /// Where the long list is.
    static let listPath = "/mall/everything"
    /// How many goods a page of it has.
    static let pageSize = 100
    /// How many pages it has.
    static let pages = 1_000

    /// A page of it; empty behind the last one.
    static func page(_ number: Int) -> [UInt8] {
        guard (1...pages).contains(number) else { return Array(#"{"errcode":200,"data":[]}"#.utf8) }
        return Array(enveloped((number - 1) * pageSize + 1...number * pageSize).utf8)
    }
}

/// The endpoint as an app declares it.
final class GoodsListRequest: BaseAPIRequest, APIManager {
    typealias Response = [Goods]
    let path = Goods.path
    let method = HTTPMethod.get
}
