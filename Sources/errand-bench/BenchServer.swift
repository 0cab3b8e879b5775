import Errand
import FixtureServer
import Foundation

/// The server of all rows, in a separate process and on a separate core.
enum BenchServer {
    /// Serves until the standard input ends; the first line of output is the address.
    static func run() throws {
        Core.pin(to: .server)
        var options = ServerOptions()
        options.recordedRequests = 0
        options.bodyHandling = { _ in .discard }
        let server = try FixtureServer.start(options, handler: handler())
        try FileHandle.standardOutput.write(contentsOf: Data("\(server.baseURL.absoluteString)\n".utf8))
        while readLine() != nil {}
        server.stop()
    }

    private static func handler() -> Script.Handler {
        let goods = Response.json(bytes: Goods.responseBytes)
        let taken = Response.json(bytes: #"{"errcode":200}"#.utf8)
        return { request in
            switch request.path {
            case Goods.path: goods
            case "/wait": taken.delayed(by: .seconds(1))
            case "/hang": .hang
            case Goods.listPath: .json(bytes: Goods.page(Int(request.queryValue("page") ?? "") ?? 0))
            case "/bytes": .stream(.counting(Int64(request.query ?? "") ?? 0))
            case EventStreams.path: EventStreams.response(request.queryValue("count"))
            default: taken
            }
        }
    }
}

/// An article in a list of goods.
struct Goods: Codable, Sendable {
    let id: Int
    let name: String
    let price: String
    let stock: Int
}

extension Goods {
    /// The number of articles in a list.
    static let count = 20
    /// The response to every compared request: a list of 2 KB in its envelope.
    static let responseBytes = [UInt8](response.utf8)
    /// The path and the query with the parameters.
    static let path = "/mall/shopList"

    /// The type of the response for the clients below the layer.
    private struct Enveloped: Decodable {
        let errcode: Int
        let msg: String?
        let data: [Goods]
    }

    /// Decodes a response; throws ``BenchFailure`` when it is not the complete list.
    static func check(_ body: Data, _ decoder: JSONDecoder) throws {
        let response = try decoder.decode(Enveloped.self, from: body)
        guard response.errcode == 200, response.data.count == count else {
            throw BenchFailure("the response is not the list of goods")
        }
    }

    private static var response: String { enveloped(1001...1000 + count) }

    private static func enveloped(_ ids: ClosedRange<Int>) -> String {
        let list = ids.map { id in
            let amounts = #""price":"\#(id % 90 + 10).50","stock":\#(id % 70)"#
            return #"{"id":\#(id),"category":7,"name":"宜兴紫砂壶 西施壶 220ml \#(id)",\#(amounts)}"#
        }
        return #"{"errcode":200,"msg":"ok","data":[\#(list.joined(separator: ","))]}"#
    }
}

extension Goods {
    /// The path of the long list.
    static let listPath = "/mall/everything"
    /// The number of articles on a page.
    static let pageSize = 100
    /// The number of pages.
    static let pages = 1_000

    /// Returns a page of the long list; empty after the last one.
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
