@testable import Errand
@testable import ErrandTestSupport
import FixtureServer
import Foundation
import TestSupport
import Testing

@Suite("Bodies", .limitedConcurrency, .timeLimit(.minutes(10)))
struct TransportBodyTests {
    @Test("a body arrives complete and with its length", arguments: TransportKind.allCases, [1, 65_536, 300_001])
    func data(kind: TransportKind, count: Int) async throws {
        let server = try FixtureServer.start { _ in .status(200) }
        let data = Data.counting(count)
        _ = try await kind.send(HTTPRequest(.put, to: server, body: .data(data)))
        let request = try await server.takeRequest()
        #expect(Data(request.body) == data)
        #expect(request.headers.values("Content-Length") == ["\(count)"])
        #expect(request.header("Transfer-Encoding") == nil)
    }

    @Test("pieces of memory and files arrive as one body", arguments: TransportKind.allCases)
    func pieces(kind: TransportKind) async throws {
        let file = try TemporaryFile(Data(repeating: 7, count: 100_000))
        let server = try FixtureServer.start { _ in .status(200) }
        let body = HTTPBody([.data(Data("<".utf8)), .file(file.url), .data(Data()), .data(Data(">".utf8))])
        _ = try await kind.send(HTTPRequest(.post, to: server, body: body))
        #expect(
            try await server.takeRequest().body == Array("<".utf8) + Array(repeating: 7, count: 100_000)
                + Array(">".utf8)
        )
    }

    @Test("a request without a body has no length", arguments: TransportKind.allCases, [HTTPBody.empty, .data(Data())])
    func noBody(kind: TransportKind, body: HTTPBody) async throws {
        let server = try FixtureServer.start { _ in .status(200) }
        _ = try await kind.send(HTTPRequest(.post, to: server, body: body))
        #expect(try await server.takeRequest().headers.values("Content-Length") == ["0"])
    }

    @Test("GET can have a body", arguments: TransportKind.allCases)
    func bodyOfGet(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .status(200) }
        try await KnownFault.bodyOfGet.known(for: kind) {
            _ = try await kind.send(HTTPRequest(.get, to: server, body: .data(Data("a".utf8))))
            #expect(server.requests.map(\.text) == ["a"])
        }
    }

    @Test("a missing file or a directory is never sent", arguments: TransportKind.allCases)
    func missingFile(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .status(200) }
        for path in ["/nowhere/at/all", "/"] {
            let error = try await kind.failure(
                of: HTTPRequest(.put, to: server, body: .file(URL(fileURLWithPath: path)))
            )
            #expect(error.kind == .invalidRequest)
        }
        #expect(server.totalConnections == 0)
    }

    @Test("a file that becomes shorter while it is sent fails the exchange", arguments: TransportKind.allCases)
    func shrinkingFile(kind: TransportKind) async throws {
        let file = try TemporaryFile(zeros: 10 << 30)
        var options = ServerOptions()
        options.bodyHandling = { _ in .discard }
        let server = try FixtureServer.start(options) { _ in .status(200) }
        let request = HTTPRequest(.put, to: server, body: .file(file.url))
        let transport = try kind.make()
        let error = await #expect(throws: TransportError.self) {
            _ = try await transport.send(request) { _ in try? file.truncate(to: 1) }
        }
        #expect(error?.kind == .storage)
        #expect(await server.waitForOpenConnections(0))
    }

    @Test(
        "a file that is replaced before it is opened fails the exchange",
        .fault(95),
        arguments: TransportKind.allCases
    )
    func replacedFile(kind: TransportKind) async throws {
        for replacement in Replacement.allCases {
            let file = try TemporaryFile(Data(count: 100_000))
            let gate = Gate()
            var options = ServerOptions()
            options.bodyHandling = { _ in .pause(after: 1_000, until: gate) }
            let server = try FixtureServer.start(options) { _ in .status(200) }
            // More than fits between client and server, so that the file is opened when the gate is.
            let body = HTTPBody([.data(Data(count: 30_000_000)), .file(file.url)])
            let transport = try kind.make()
            let reports = Counter()
            let error = await #expect(throws: TransportError.self) {
                _ = try await transport.send(HTTPRequest(.put, to: server, body: body)) { _ in
                    guard reports.next() == 1 else { return }
                    replacement.replace(file.url)
                    gate.open()
                }
            }
            #expect(error?.kind == .storage, "\(replacement)")
            #expect(await server.waitForOpenConnections(0))
        }
    }

    @Test("a file that is replaced after it was measured is not read", .fault(95))
    func replacedBeforeReading() throws {
        for replacement in Replacement.allCases {
            let file = try TemporaryFile(Data(count: 10))
            var reader = try HTTPBodyReader(.file(file.url))
            replacement.replace(file.url)
            var kind: TransportError.Kind?
            var bytes = [UInt8](repeating: 1, count: 10)
            do {
                _ = try bytes.withUnsafeMutableBytes { buffer in
                    Result { () throws(TransportError) in try reader.read(into: buffer) }
                }.get()
            } catch { kind = error.kind }
            #expect(kind == .storage, "\(replacement)")
        }
    }

    @Test("an early response ends the upload", arguments: TransportKind.allCases)
    func earlyResponse(kind: TransportKind) async throws {
        var options = ServerOptions()
        options.bodyHandling = { _ in .pause(after: 100_000, until: Gate()) }
        let server = try FixtureServer.start(options) { _, _ in
            .onHead { _ in Response.text("too large", status: 413).closing() }
        }
        let response = try await kind.send(HTTPRequest(.put, to: server, body: .data(Data(count: 5_000_000))))
        #expect(response.status == 413 && response.body == Data("too large".utf8))
    }

    @Test("a response is stored in a file, which replaces an older one", arguments: TransportKind.allCases)
    func download(kind: TransportKind) async throws {
        let file = try TemporaryFile(Data("old".utf8))
        let server = try FixtureServer.start { _ in .stream(.counting(300_000)) }
        var request = HTTPRequest(to: server)
        request.destination = .file(file.url)
        request.limits.bodyBytes = 10
        let response = try await kind.send(request)
        #expect(response.file == file.url && response.body.isEmpty)
        let expected = Data.counting(300_000)
        #expect(try Data(contentsOf: file.url) == expected)
        #expect(try file.namesInFolder() == [file.url.lastPathComponent])
    }

    @Test("a link at the place of the file is replaced, and not followed", arguments: TransportKind.allCases)
    func linkedDownload(kind: TransportKind) async throws {
        let (folder, other) = (try TemporaryFolder(), try TemporaryFile(Data("old".utf8)))
        try FileManager.default.createSymbolicLink(at: folder.file, withDestinationURL: other.url)
        let server = try FixtureServer.start { _ in .text("new") }
        var request = HTTPRequest(to: server)
        request.destination = .file(folder.file)
        _ = try await kind.send(request)
        #expect(try Data(contentsOf: folder.file) == Data("new".utf8))
        #expect(try Data(contentsOf: other.url) == Data("old".utf8))
    }

    @Test("a response that is not 2xx does not change the file", arguments: TransportKind.allCases)
    func refusedDownload(kind: TransportKind) async throws {
        let file = try TemporaryFile(Data("old".utf8))
        let server = try FixtureServer.start { _ in .text("none", status: 404) }
        var request = HTTPRequest(to: server, "/missing")
        request.destination = .file(file.url)
        let response = try await kind.send(request)
        #expect(response.file == nil && response.body == Data("none".utf8))
        #expect(try Data(contentsOf: file.url) == Data("old".utf8))
        #expect(try file.namesInFolder() == [file.url.lastPathComponent])
    }

    @Test("progress increases up to the total and ends before the response", arguments: TransportKind.allCases)
    func progress(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .stream(.counting(500_000)) }
        let reports = Lock<[TransferProgress]>([])
        let request = HTTPRequest(.put, to: server, body: .data(Data(count: 1_000_000)))
        _ = try await kind.send(request) { report in reports.withLock { $0.append(report) } }
        let all = reports.withLock { $0 }
        for (direction, total) in [(TransferProgress.Direction.upload, Int64(1_000_000)), (.download, 500_000)] {
            let counts = all.filter { $0.direction == direction }.map(\.completedBytes)
            #expect(counts == counts.sorted() && counts.last == total)
        }
        #expect(all.allSatisfy { $0.totalBytes == ($0.direction == .upload ? 1_000_000 : 500_000) })
    }
}

@Suite("Limits", .limitedConcurrency, .timeLimit(.minutes(10)))
struct TransportLimitTests {
    @Test("a body may be as large as the limit and no larger", arguments: TransportKind.allCases, [true, false])
    func body(kind: TransportKind, isLengthTold: Bool) async throws {
        let body = [UInt8](repeating: 7, count: 100_000)
        let server = try FixtureServer.start { _ in isLengthTold ? .bytes(body) : .chunked([body]) }
        var request = HTTPRequest(to: server)
        request.limits.bodyBytes = body.count
        #expect(try await kind.send(request).body.count == body.count)
        request.limits.bodyBytes -= 1
        #expect(try await kind.failure(of: request).kind == .responseTooLarge)
        #expect(await server.waitForOpenConnections(0))
    }

    @Test("a decompression bomb ends at the limit", .fault(52), arguments: TransportKind.allCases)
    func bomb(kind: TransportKind) async throws {
        let bomb = Gzip.encode(DecompressionBomb.gzip(64 << 20))
        let server = try FixtureServer.start { _ in .bytes(bomb, headers: ["Content-Encoding": "gzip, gzip"]) }
        var request = HTTPRequest(to: server)
        request.limits.bodyBytes = 1_000_000
        #expect(try await kind.failure(of: request).kind == .responseTooLarge)
    }

    @Test("an endless body ends at the limit", .fault(53), arguments: TransportKind.allCases)
    func endless(kind: TransportKind) async throws {
        let piece = Array(repeating: UInt8(ascii: "x"), count: 16_384)
        let server = try FixtureServer.start { _ in
            .script(.write("HTTP/1.1 200 OK\r\n\r\n"), .repeatForever(piece, every: .zero))
        }
        var request = HTTPRequest(to: server)
        request.limits.bodyBytes = 1_000_000
        #expect(try await kind.failure(of: request).kind == .responseTooLarge)
        #expect(await server.waitForOpenConnections(0))
    }

    @Test("a head over its limit is refused", .fault(53), arguments: TransportKind.allCases)
    func head(kind: TransportKind) async throws {
        let value = String(repeating: "x", count: 1_000)
        let lines = (0..<100).map { HeaderLine("X-\($0)", value) }
        let server = try FixtureServer.start { _ in .status(200, headers: HeaderLines(lines)) }
        var request = HTTPRequest(to: server)
        #expect(try await kind.send(request).headers["x-99"] == value)
        request.limits.headerBytes = 100_000
        #expect(try await kind.failure(of: request).kind == .responseTooLarge)
    }

    @Test("a header line of a megabyte is refused", .fault(53), arguments: TransportKind.allCases)
    func line(kind: TransportKind) async throws {
        let value = String(repeating: "x", count: 1_000_000)
        let server = try FixtureServer.start { _ in .status(200, headers: ["X-Long": value]) }
        #expect(try await kind.failure(of: HTTPRequest(to: server)).kind == .responseTooLarge)
    }
}

/// What may replace a file that existed before.
private enum Replacement: CaseIterable {
    case pipe, folder, device, loop, longer, nothing

    func replace(_ file: URL) {
        if self != .longer { unlink(file.path) }
        switch self {
        // As editors save.
        case .longer: try? Data(count: 200_000).write(to: file, options: .atomic)
        case .pipe: mkfifo(file.path, 0o600)
        case .folder: mkdir(file.path, 0o700)
        case .device: symlink("/dev/zero", file.path)
        case .loop: symlink(file.path, file.path)
        case .nothing: break
        }
    }
}
