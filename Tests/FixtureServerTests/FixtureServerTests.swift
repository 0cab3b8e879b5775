import Errand
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import FixtureServer

#if THREAD_SANITIZER
/// The lock that the thread sanitizer supports.
private typealias Mutex = Errand.Mutex
#endif

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
    private let box = Mutex<FixtureServer?>(nil)

    var server: FixtureServer? {
        get { box.withLock { $0 } }
        set { box.withLock { $0 = newValue } }
    }
}
