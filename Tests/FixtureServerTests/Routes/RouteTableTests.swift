import TestSupport
import Testing

@testable import FixtureServer

@Suite("Routes", .limitedConcurrency, .timeLimit(.minutes(10)))
struct RouteTableTests {
    @Test(arguments: [
        ("/a/b", "/a/b", [:]), ("/:x/b", "/a/b", ["x": "a"]), ("/:x", "/%E4%BD%A0%2F", ["x": "你/"]),
        ("/:id.pdf", "/7.pdf", ["id": "7"]), ("/a/*", "/a/b/c", ["*": "b/c"]), ("/a/*", "/a/", ["*": ""]),
        ("/", "/", [:]),
    ])
    func `A pattern matches`(pattern: String, path: String, parameters: [String: String]) {
        #expect(RoutePattern(pattern).match(path) == parameters)
    }

    @Test(arguments: [
        ("/a", "/a/"), ("/a", "/A"), ("/:x", "/a/b"), ("/:x/b", "/a"), ("/:id.pdf", "/.pdf"), ("/:id.pdf", "/7.txt"),
        ("/a/*", "/b/c"), ("/a", ""), ("/a", "*"),
    ])
    func `A pattern does not match`(pattern: String, path: String) {
        #expect(RoutePattern(pattern).match(path) == nil)
    }

    @Test func `The route that was added last takes precedence, also in a merged table`() throws {
        var routes = RouteTable()
        routes.get("/x/:y") { _ in .text("first") }
        routes.get("/x/:y") { .text("second \($0.parameters["y"] ?? "")") }
        var more = RouteTable()
        more.get("/status/200") { _ in .text("mine") }
        var all = RouteTable.standard
        all.add(routes)
        all.add(more)
        let server = try FixtureServer.start(routes: all)
        var client = try RawClient(port: server.port)
        for (path, text) in [("/x/1", "second 1"), ("/status/200", "mine")] {
            client.request("GET", path)
            #expect(client.reply().text == text)
        }
        client.request("GET", "/status/404")
        #expect(client.reply().status == 404)
    }
}
