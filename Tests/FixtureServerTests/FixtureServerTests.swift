import Errand
import Foundation
import Testing
import TestSupport

@testable import FixtureServer

@Suite("Starting and stopping a server", .limitedConcurrency, .timeLimit(.minutes(10)))
struct FixtureServerTests {
    /// Whether a file with a UUID as its name may be a socket: its path has at most 103 bytes, on Linux 107.
    private static let socketPathFits = FileManager.default.temporaryDirectory.path.utf8.count <= 58

    @Test func `It is listening when start returns`() throws {
        let server = try FixtureServer.start()
        var client = try RawClient(port: server.port)
        client.request("GET", "/status/204")
        #expect(client.reply().statusLine == "HTTP/1.1 204 No Content")
        #expect(server.baseURL.absoluteString == "http://127.0.0.1:\(server.port)")
    }

    @Test func `Stopping closes every connection, and may be repeated`() async throws {
        let server = try FixtureServer.start()
        var idle = try RawClient(port: server.port)
        var hanging = try RawClient(port: server.port)
        hanging.request("GET", "/hang")
        _ = try await server.takeRequest()
        server.stop()
        server.stop()
        #expect(idle.readToEnd() == ([], .fin))
        #expect(hanging.readToEnd() == ([], .fin))
        #expect(server.openConnections == 0)
        #expect(throws: POSIXError.self) { _ = try RawClient(port: server.port) }
    }

    #if os(Linux)
    @Test func `The port of a stopped server is given to nobody but a server that asks for it`() throws {
        let server = try FixtureServer.start()
        server.stop()
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = server.port.bigEndian
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(number) }
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        #expect(bound == -1 && errno == EADDRINUSE)
        var options = ServerOptions()
        options.port = server.port
        let next = try FixtureServer.start(options)
        #expect(next.port == server.port)
        #expect(throws: (any Error).self) { try FixtureServer.start(options) }
    }
    #endif

    @Test func `Responses that are under way may finish within the grace`() async throws {
        let gate = Gate()
        let server = try FixtureServer.start { _ in .text("late").behind(gate) }
        var client = try RawClient(port: server.port)
        client.request("GET", "/")
        _ = try await server.takeRequest()
        var idle = try RawClient(port: server.port)
        #expect(await server.waitForOpenConnections(2))
        let stopped = Gate()
        Thread.detachNewThread {
            server.stop(grace: .seconds(30))
            stopped.open()
        }
        #expect(idle.readToEnd().end == .fin, "an idle connection closes when the stop begins")
        gate.open()
        #expect(client.reply().text == "late")
        #expect(client.readToEnd().end == .fin)
        await stopped.opened()
    }

    @Test func `It can be stopped and released on the server's thread`() async throws {
        let gate = Gate()
        let holder = Holder()
        holder.server = try FixtureServer.start { _ in
            holder.server?.stop()
            holder.server = nil
            gate.open()
            return .text("bye")
        }
        let port = try #require(holder.server?.port)
        let client = try RawClient(port: port)
        client.request("GET", "/")
        await gate.opened()
        #expect(holder.server == nil)
    }

    @Test func `It counts its connections and their ends`() async throws {
        let server = try FixtureServer.start()
        do {
            let first = try RawClient(port: server.port)
            let second = try RawClient(port: server.port)
            #expect(await server.waitForOpenConnections(2))
            first.request("GET", "/hang")
            withExtendedLifetime(second) {}
        }
        #expect(await server.waitForOpenConnections(0))
        #expect(server.totalConnections == 2)
        #expect(await !server.waitForOpenConnections(1, timeout: .milliseconds(1)))
    }

    @Test(.enabled(if: socketPathFits, "the path of the temporary folder is too long for a socket"))
    func `It listens on IPv6 and on a path when the options request it`() throws {
        var options = ServerOptions()
        options.listensOnIPv6 = true
        options.unixSocket = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).socket")
        let server = try FixtureServer.start(options)
        var loopback = sockaddr_in6()
        loopback.sin6_family = sa_family_t(AF_INET6)
        loopback.sin6_port = server.port.bigEndian
        loopback.sin6_addr = in6addr_loopback
        var client = try RawClient(family: AF_INET6, loopback)
        client.request("GET", "/status/200")
        #expect(client.reply().status == 200)
        var path = sockaddr_un()
        path.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &path.sun_path) { $0.copyBytes(from: options.unixSocket?.path.utf8 ?? "".utf8) }
        var local = try RawClient(family: AF_UNIX, path)
        local.request("GET", "/status/200")
        #expect(local.reply().status == 200)
    }

    @Test(.enabled(if: socketPathFits, "the path of the temporary folder is too long for a socket"))
    func `The path of its socket is removed with it`() throws {
        var options = ServerOptions()
        let socket = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).socket")
        options.unixSocket = socket
        let server = try FixtureServer.start(options)
        #expect(FileManager.default.fileExists(atPath: socket.path))
        server.stop()
        #expect(!FileManager.default.fileExists(atPath: socket.path))
    }

    @Test func `Two hundred connections may wait at the same time`() async throws {
        let gate = Gate()
        let server = try FixtureServer.start { _ in .text("all").behind(gate) }
        var clients: [Int: ClientBox] = [:]
        // Not more, because Foundation's Process, which other tests use, crashes with descriptors from 1,024 on.
        for index in 0..<200 {
            clients[index] = ClientBox(try RawClient(port: server.port))
            clients[index]?.client.request("GET", "/")
        }
        #expect(await server.waitForTotalRequests(200))
        gate.open()
        #expect(clients.values.allSatisfy { $0.client.reply().text == "all" })
    }
}

private final class ClientBox {
    var client: RawClient

    init(_ client: consuming RawClient) {
        self.client = client
    }
}

private final class Holder: Sendable {
    private let box = Lock<FixtureServer?>(nil)

    var server: FixtureServer? {
        get { box.withLock { $0 } }
        set { box.withLock { $0 = newValue } }
    }
}

#if os(Linux)
import Foundation
import TestSupport
import Testing
@testable import FixtureServer

@Suite("Accepting connections", .limitedConcurrency, .timeLimit(.minutes(10)))
struct AcceptingTests {
    @Test func `A server set not to accept does not, even after it has run out of descriptors`() async {
        await #expect(processExitsWith: .success) {
            let server = try FixtureServer.start { _ in .text("ok") }
            await server.setAccepting(false)
            let client = try RawClient(port: server.port)
            // More descriptors than this process has inherited from the test process.
            var limit = rlimit(rlim_cur: 4_096, rlim_max: 4_096)
            #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            // The first timer of Dispatch opens some, and traps where it cannot.
            try await Task.sleep(for: .nanoseconds(1))
            var hoard: [CInt] = []
            while case let number = dup(0), number >= 0 { hoard.append(number) }
            await server.setAccepting(true)
            // Measured by the server's thread, which has tried to accept when this time has passed.
            #expect(await !server.waitForTotalConnections(1, timeout: .milliseconds(50)))
            await server.setAccepting(false)
            for number in hoard { close(number) }
            #expect(await !server.waitForTotalConnections(1, timeout: .milliseconds(200)))
            await server.setAccepting(true)
            #expect(await server.waitForTotalConnections(1))
            client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(await server.waitForTotalRequests(1))
        }
    }
}
#endif

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
