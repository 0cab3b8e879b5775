import Foundation
import TestSupport
import Testing

@testable import FixtureServer

@Suite("Scripts", .limitedConcurrency, .timeLimit(.minutes(10)))
struct ScriptTests {
    @Test(arguments: [
        ([Response.Step.close], "", RawClient.End.fin), ([.reset], "", .reset),
        ([.write("HTTP/1.1 2"), .close], "HTTP/1.1 2", .fin), ([.write("x"), .reset], "x", .reset),
        ([.write("a"), .wait(.milliseconds(1)), .write("b"), .close], "ab", .fin),
    ])
    func `A script on accept needs no request`(steps: [Response.Step], bytes: String, end: RawClient.End) throws {
        let server = try FixtureServer.start(plan: { _, _ in .onAccept(Response(steps: steps)) })
        var client = try RawClient(port: server.port)
        let result = client.readToEnd()
        #expect(String(decoding: result.bytes, as: UTF8.self) == bytes)
        #expect(result.end == end)
        #expect(server.totalConnections == 1)
    }

    @Test func `A script on accept ends with FIN even when the client has sent unread bytes`() throws {
        let server = try FixtureServer.start(plan: { _, _ in .onAccept(.write("bye")) })
        var client = try RawClient(port: server.port)
        client.send([UInt8](repeating: 0, count: 100_000))
        #expect(client.readToEnd() == (Array("bye".utf8), .fin))
    }

    @Test func `A script on the head responses before the body, which is then skipped`() async throws {
        let server = try FixtureServer.start(plan: { _, turn in
            turn == 1 ? .onHead { .text("\($0.bodyCount)") } : .onRequest { .text($0.text) }
        })
        var client = try RawClient(port: server.port)
        client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n")
        #expect(client.reply().text == "0")
        client.send("hello")
        client.request("POST", "/", body: Array("next".utf8))
        #expect(client.reply().text == "next")
        #expect(server.requests.map(\.bodyCount) == [0, 4])
    }

    @Test func `Each connection and each turn has a separate script, and nil ends the connection`() throws {
        let server = try FixtureServer.start(plan: { connection, turn in
            turn < 3 ? .onRequest(.write("<\(connection).\(turn)>")) : nil
        })
        for connection in 1...2 {
            var client = try RawClient(port: server.port)
            for turn in 1...2 {
                client.request("GET", "/")
                #expect(client.read(through: ">") == "<\(connection).\(turn)>")
            }
            #expect(client.readToEnd().end == .fin)
        }
    }

    @Test func `Gates delay responses and report their progress`() async throws {
        let (reached, released) = (Gate(), Gate())
        let server = try FixtureServer.start(plan: { _, _ in
            .onRequest(.write("first"), .open(reached), .pass(released), .write("second"), .close)
        })
        var client = try RawClient(port: server.port)
        client.request("GET", "/")
        await reached.opened()
        #expect(client.read(5) == Array("first".utf8))
        released.open()
        #expect(client.readToEnd().bytes == Array("second".utf8))
    }

    @Test func `A client that leaves ends a response that waits`() async throws {
        for step in [Response.Step.hang, .wait(.seconds(60)), .pass(Gate()), .repeatForever([1], every: .seconds(60))] {
            let server = try FixtureServer.start(plan: { _, _ in .onRequest(step) })
            do {
                let client = try RawClient(port: server.port)
                client.request("GET", "/")
                #expect(await server.waitForTotalRequests(1))
            }
            #expect(await server.waitForOpenConnections(0))
        }
    }

    @Test func `A connection that is idle between two requests beyond the limit ends`() throws {
        var options = ServerOptions()
        options.keepAliveTimeout = .milliseconds(10)
        let server = try FixtureServer.start(options) { _ in .text("ok") }
        var client = try RawClient(port: server.port)
        client.request("GET", "/")
        #expect(client.reply().text == "ok")
        #expect(client.readToEnd() == ([], .fin))
    }

    @Test func `Connections wait in the backlog while none are accepted`() async throws {
        let server = try FixtureServer.start { _ in .text("ok") }
        await server.setAccepting(false)
        var client = try RawClient(port: server.port)
        client.request("GET", "/")
        #expect(await !server.waitForTotalConnections(1, timeout: .milliseconds(20)))
        await server.setAccepting(true)
        #expect(client.reply().text == "ok")
    }
}
