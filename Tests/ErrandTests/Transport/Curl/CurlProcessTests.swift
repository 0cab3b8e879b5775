#if os(Linux)
import FixtureServer
import Foundation
import Synchronization
import TestSockets
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("A process with libcurl", .limitedConcurrency, .timeLimit(.minutes(10)))
struct CurlProcessTests {
    @Test func `Without libcurl, URLSession is used and the reason is known`() async {
        await #expect(processExitsWith: .success) {
            setenv("ERRAND_HIDE_LIBCURL", "1", 1)
            #expect(CurlTransport.unavailableReason?.contains("ERRAND_HIDE_LIBCURL") == true)
            #expect(CurlLibrary.version.isEmpty)
            #expect(throws: TransportError.self) { try CurlTransport() }
            #expect(SystemTransport().platform is URLSessionTransport)
        }
    }

    @Test func `With libcurl, it sends the requests`() {
        #expect(CurlTransport.unavailableReason == nil)
        #expect(SystemTransport().platform is CurlTransport)
    }

    @Test(.fault(77)) func `A process may end while requests are in flight`() async {
        await #expect(processExitsWith: .exitCode(7)) {
            let server = try FixtureServer.start { _ in .hang }
            let transport = try CurlTransport()
            for _ in 0..<100 {
                Task { try await transport.send(HTTPRequest(.get, server.url("/"))) }
            }
            #expect(await server.waitForTotalRequests(16))
            exit(7)
        }
    }

    @Test(.fault(77), .enabled(if: TestAuthority.isAvailable, "openssl is not installed"))
    func `A process may end while TLS connections are opened`() async {
        await #expect(processExitsWith: .exitCode(7)) {
            let authority = try TestAuthority()
            let command = ["openssl", "s_server", "-accept", "0", "-www", "-cert", "server.pem"]
            let output = Pipe()
            let program = try TestProgram(command, in: authority.directory, output: output)
            let port = try #require(try output.line(behind: "ACCEPT ").split(separator: ":").last)
            let url = try #require(URL(string: "https://127.0.0.1:\(port)/"))
            let transport = try CurlTransport()
            for _ in 0..<100 {
                Task { while true { _ = try? await transport.send(HTTPRequest(.get, url)) } }
            }
            _ = try? await transport.send(HTTPRequest(.get, url))
            withExtendedLifetime(authority) { program.stop() }
            exit(7)
        }
    }

    @Test(.fault(78)) func `Programs that the process starts while requests run inherit no descriptor`() async {
        await #expect(processExitsWith: .success) {
            test_sockets_stay_as_requested()
            let before = try Self.inheritedDescriptors()
            var options = ServerOptions()
            options.bodyHandling = { _ in .pause(after: 1_000, until: Gate()) }
            let server = try FixtureServer.start(options) { request in
                guard request.path == "/drip" else { return .text("ok").followed(by: .close) }
                return .script(.write("HTTP/1.1 200 OK\r\n\r\nabc"), .hang)
            }
            let (file, place) = (try TemporaryFile(zeros: 1 << 30), try TemporaryFile(Data()))
            var download = HTTPRequest(.get, server.url("/drip"))
            download.destination = .file(place.url)
            let upload = HTTPRequest(.put, server.url("/"), body: .file(file.url))
            let transport = try CurlTransport()
            for request in [download, upload] { Task { try await transport.send(request) } }
            try await until {
                let folder = place.url.deletingLastPathComponent().path
                let files = try SocketTable.openFiles()
                return files.contains(file.url.path) && files.contains { $0.hasPrefix(folder) }
            }
            for _ in 0..<8 { Task { while true { _ = try await transport.send(HTTPRequest(.get, server.url("/"))) } } }
            try await until { server.totalConnections > 2 }
            for _ in 0..<30 {
                // On one core the requests use the thread of this task.
                await Task.yield()
                let inherited = try Self.inheritedDescriptors().filter { !before.contains($0) }
                #expect(inherited.isEmpty, "\(inherited)")
            }
            withExtendedLifetime(server) {}
        }
    }

    @Test(.fault(95)) func `Sockets that other threads open meanwhile are not changed`() async {
        await #expect(processExitsWith: .success) {
            try #require(CurlTransport.unavailableReason == nil)
            let pairs = SocketPairs()
            for _ in 0..<3 { Thread { pairs.openUntilDone() }.start() }
            var loops = 0
            while loops < 200 || pairs.opened.load(ordering: .relaxed) < 2_000 {
                // The threads of the loops before may still have their descriptors.
                guard let loop = CurlLoop(CurlSettings()) else { continue }
                loop.stop()
                loops += 1
            }
            pairs.isDone.store(true, ordering: .relaxed)
            #expect(pairs.changed.load(ordering: .relaxed) == 0)
        }
    }

    /// The open files of a program that starts now, without its three standard streams.
    private static func inheritedDescriptors() throws -> [String] {
        let pipe = try #require(popen("ls -l /proc/self/fd", "r"))
        defer { pclose(pipe) }
        // This process may have inherited a thousand descriptors itself.
        let bytes = try #require(try FileHandle(fileDescriptor: fileno(pipe)).readToEnd())
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        return lines.compactMap { line in
            guard let arrow = line.firstRange(of: " -> ") else { return nil }
            let number = line[..<arrow.lowerBound].split(separator: " ").last.flatMap { Int($0) }
            guard let number, number > 2 else { return nil }
            let target = line[arrow.upperBound...]
            // The files that this process inherited may be deleted meanwhile.
            return target.hasPrefix("/proc/") ? nil : String(target).replacing(" (deleted)", with: "")
        }
    }

    @Test(.fault(67)) func `A process without free descriptors recovers`() async {
        await #expect(processExitsWith: .success) {
            let server = try FixtureServer.start { _ in .text("ok").delayed(by: .milliseconds(1)) }
            let transport = try CurlTransport()
            try DescriptorLimit.leave(50)
            let kinds = await withTaskGroup(of: TransportError.Kind?.self) { group in
                for number in 0..<1_000 {
                    let url = server.url("/", host: "127.0.0.\(1 + number % 20)")
                    group.addTask { await Self.ending(transport, url) }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(kinds.count == 1_000)
            // The server is in this process too: a connection that it has no descriptor to accept waits until the deadline.
            #expect(kinds.allSatisfy { [nil, .cannotConnect, .connectionLost, .timeout].contains($0) })
            #expect(await Self.ending(transport, server.url("/")) == nil)
        }
    }

    private static func ending(_ transport: CurlTransport, _ url: URL) async -> TransportError.Kind? {
        var request = HTTPRequest(.get, url)
        request.deadline = .seconds(10)
        return await transport.ending(of: request)
    }

    @Test func `A broken connection does not raise a signal`() async {
        await #expect(processExitsWith: .success) {
            signal(SIGPIPE, SIG_DFL)
            let server = try FixtureServer.start { _, _ in .onHead(.reset) }
            let transport = try CurlTransport()
            for _ in 0..<20 {
                let body = HTTPBody.data(Data(repeating: 1, count: 3_000_000))
                _ = try? await transport.send(HTTPRequest(.put, server.url("/"), body: body))
            }
        }
    }
}

/// Pairs of sockets that threads open and use.
private final class SocketPairs: Sendable {
    let isDone = Atomic(false)
    let opened = Atomic(0)
    /// How many of the sockets became close-on-exec.
    let changed = Atomic(0)

    func openUntilDone() {
        while !isDone.load(ordering: .relaxed) { open() }
    }

    private func open() {
        var pair: [CInt] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0 else { return }
        defer { for number in pair { close(number) } }
        opened.add(1, ordering: .relaxed)
        var byte: UInt8 = 1
        for _ in 0..<20 {
            _ = write(pair[0], &byte, 1)
            _ = read(pair[1], &byte, 1)
        }
        changed.add(pair.count { fcntl($0, F_GETFD) != 0 }, ordering: .relaxed)
    }
}
#endif
