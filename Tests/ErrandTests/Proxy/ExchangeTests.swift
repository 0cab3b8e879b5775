import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@Suite("One request on the wire, with its redirects and cookies", .hangLimit, .timeLimit(.minutes(10)))
struct ExchangeTests {
    private static let url = URL("http://shop.test/api/photo")

    private func exchange(
        _ script: @escaping ScriptedTransport.Script,
        id: RequestID? = nil,
        cookies: CookieJar = CookieJar()
    ) -> (exchange: (HTTPRequest) -> Exchange, transport: ScriptedTransport, loads: LoadTable) {
        let transport = ScriptedTransport(script)
        let context = APIProxy.sample(transport)
        if let id { context.loads.insert(.sample(id)) }
        let exchange = {
            Exchange($0, id: id, session: CookieSession(cookies, clock: context.clock), proxy: context, trace: nil)
        }
        return (exchange, transport, context.loads)
    }

    private func download(to file: URL) -> HTTPRequest {
        var request = HTTPRequest(.get, Self.url)
        request.destination = .file(file)
        return request
    }

    @Test func `Each request of a chain has the cookies of its URL, those of the response before included`()
        async throws
    {
        let cookies = CookieJar()
        let (exchange, transport, _) = exchange(
            { request in
                guard request.url.path == "/api/photo" else { return .json("{}") }
                return .status(302, headers: ["Location": "/next", "Set-Cookie": "step=1; Path=/next"])
            },
            cookies: cookies
        )
        cookies.store(setCookie: "sid=7; Path=/", from: Self.url)
        let response = try await exchange(HTTPRequest(.get, Self.url)).send(progress: nil)
        #expect(response.status == 200)
        #expect(response.url == URL("http://shop.test/next"))
        #expect(response.redirects == [Self.url])
        #expect(transport.requests.map { $0.headers["Cookie"] } == ["sid=7", "step=1; sid=7"])
    }

    @Test func `A chain ends with an error after as many redirects as the policy follows`() async {
        let (exchange, transport, _) = exchange { request in
            .status(302, headers: ["Location": "/\((Int(request.url.lastPathComponent) ?? 0) + 1)"])
        }
        var request = HTTPRequest(.get, Self.url)
        request.redirectPolicy = .follow(limit: 3)
        let error = await #expect(throws: APIError.self) { try await exchange(request).send(progress: nil) }
        #expect(error?.type == .transport)
        #expect(transport.requests.count == 4)
    }

    @Test func `A file is staged beside its target until the load ends`() async throws {
        let folder = try TemporaryFolder()
        let target = folder.url.appending(path: "photo.jpg")
        try Data("old".utf8).write(to: target)
        let id = RequestID.next()
        let (exchange, _, loads) = exchange({ _ in HTTPResponse(status: 200, body: Data("new".utf8)) }, id: id)
        let response = try await exchange(download(to: target)).send(progress: nil)
        let staged = try #require(response.file)
        #expect(staged != target && staged.lastPathComponent == "photo.jpg")
        #expect(try Data(contentsOf: staged) == Data("new".utf8))
        #expect(try Data(contentsOf: target) == Data("old".utf8))
        #expect(try folder.names.count == 2)
        loads.discardFile(of: id)
        #expect(try folder.names == ["photo.jpg"])
    }

    @Test(arguments: [204, 205, 304, 404])
    func `A response without a file leaves the older one, and nothing beside it`(_ status: Int) async throws {
        let folder = try TemporaryFolder()
        let target = folder.url.appending(path: "photo.jpg")
        try Data("old".utf8).write(to: target)
        let (exchange, _, _) = exchange({ _ in .status(status) }, id: .next())
        #expect(try await exchange(download(to: target)).send(progress: nil).status == status)
        #expect(try folder.names == ["photo.jpg"])
        #expect(try Data(contentsOf: target) == Data("old".utf8))
    }

    @Test func `The body of an accepted status is stored as well, but a 304 describes the older file`() async throws {
        let folder = try TemporaryFolder()
        let target = folder.url.appending(path: "photo.jpg")
        try Data("old".utf8).write(to: target)
        let (missing, _, _) = exchange({ _ in HTTPResponse(status: 404, body: Data("none".utf8)) }, id: .next())
        let stored = try await missing(download(to: target)).send(storing: [404], progress: nil)
        #expect(try Data(contentsOf: #require(stored.file)) == Data("none".utf8))
        let (unmodified, _, _) = exchange({ _ in .status(304) }, id: .next())
        let response = try await unmodified(download(to: target)).send(storing: [304], progress: nil)
        #expect(response.file == target)
        #expect(try Data(contentsOf: target) == Data("old".utf8))
    }

    @Test func `A load that has ended stages no file, and an exchange of several loads writes none`() async throws {
        let folder = try TemporaryFolder()
        let target = folder.url.appending(path: "photo.jpg")
        let id = RequestID.next()
        let (ended, endedTransport, loads) = exchange({ _ in .status(200) }, id: id)
        _ = loads.claim(id)
        let cancelled = await #expect(throws: APIError.self) {
            try await ended(download(to: target)).send(progress: nil)
        }
        #expect(cancelled?.type == .cancelled)
        let (shared, sharedTransport, _) = exchange { _ in .status(200) }
        let refused = await #expect(throws: APIError.self) {
            try await shared(download(to: target)).send(progress: nil)
        }
        #expect(refused?.type == .invalidRequest)
        #expect(endedTransport.requests.isEmpty && sharedTransport.requests.isEmpty)
        #expect(try folder.names.isEmpty)
    }

    @Test func `Nothing is sent by a cancelled task`() async {
        let (exchange, transport, _) = exchange { _ in .status(200) }
        let task = Task { () async -> APIErrorType? in
            while !Task.isCancelled { await Task.yield() }
            do throws(APIError) {
                _ = try await exchange(HTTPRequest(.get, Self.url)).send(progress: nil)
                return nil
            } catch {
                return error.type
            }
        }
        task.cancel()
        #expect(await task.value == .cancelled)
        #expect(transport.requests.isEmpty)
    }
}
