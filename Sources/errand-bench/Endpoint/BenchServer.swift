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
            default: taken
            }
        }
    }
}
