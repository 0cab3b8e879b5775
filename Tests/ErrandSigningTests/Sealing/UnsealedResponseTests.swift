import Errand
import ErrandTesting
import Foundation
import Testing

@testable import ErrandSigning

@Suite("Responses to sealed requests that are not sealed, old, or without a body", .timeLimit(.minutes(5)))
struct UnsealedResponseTests {
    @Test func `A response that is not sealed is a security error`() async throws {
        let scene = SealingScene()
        scene.server.setChange { $0 = .json(#"{"errcode":200,"msg":"ok","data":"forged"}"#) }
        let error = try #require(await scene.failure())
        #expect(error.type == .security)
        #expect((error.underlying as? SigningError)?.kind == .notSealed)
        scene.server.setChange { $0 = .status(200) }
        #expect(await scene.failure()?.type == .security)
    }

    @Test func `A failure may be served without sealing, as far as it is allowed`() async throws {
        let scene = SealingScene(change: { $0.clearCodes = [7] })
        scene.server.setChange { $0 = .status(503) }
        #expect(await scene.failure()?.type == .http)
        scene.server.setChange { $0 = .json(#"{"errcode":7,"msg":"closed"}"#) }
        let error = await scene.failure()
        #expect(error?.type == .server && error?.code == 7)
        scene.server.setChange { $0 = .json(#"{"errcode":8,"msg":"closed"}"#) }
        #expect(await scene.failure()?.type == .security)
        let strict = SealingScene(change: { $0.clearStatuses = [] })
        strict.server.setChange { $0 = .status(503) }
        #expect(await strict.failure()?.type == .security)
    }

    @Test(arguments: [204, 304, 200, 201], ["", "application/x-sealed", "application/json"])
    func `A response without a body that is not sealed is no success`(_ status: Int, _ type: String) async throws {
        let scene = SealingScene()
        let headers: HTTPHeaders = type.isEmpty ? [:] : ["Content-Type": type]
        scene.server.setChange { $0 = .status(status, headers: headers) }
        for method in [HTTPMethod.post, .get, .put, .delete] {
            let request = await APIRequest<Void>("/a", method: method, params: ["a": 1], proxy: scene.proxy)
            let error = await #expect(throws: APIError.self) { try await request.value() }
            #expect(error?.type == .security, "\(method)")
        }
    }

    @Test func `A status without a body is accepted when it is named as clear`() async throws {
        let scene = SealingScene(change: { $0.clearStatuses.insert(204) })
        scene.server.setChange { $0 = .status(204, headers: ["Content-Type": "application/x-sealed"]) }
        try await APIRequest<Void>("/a", method: .post, params: ["a": 1], proxy: scene.proxy).value()
        scene.server.setChange { $0 = .status(304) }
        await #expect(throws: APIError.self) { try await APIRequest<Void>("/a", proxy: scene.proxy).value() }
    }

    @Test(arguments: [200, 201, 204])
    func `A sealed body of no bytes authenticates that there is none`(_ status: Int) async throws {
        let scene = SealingScene()
        scene.server.sealNothing(status: status)
        let proxy = APIProxy(service: scene.proxy.defaultService, transport: BodyTransport(server: scene.server))
        try await APIRequest<Void>("/a", method: .post, params: ["a": 1], proxy: proxy).value()
        let changes: [SealingServer.Change] = [
            { $0.body[$0.body.count - 1] ^= 1 }, { $0.body[0] ^= 1 }, { $0.status = status == 204 ? 200 : 204 },
            { $0.body = Data() }, { $0.headers["Content-Type"] = "application/json" },
        ]
        for change in changes {
            scene.server.setChange(change)
            let request = await APIRequest<Void>("/a", method: .post, params: ["a": 1], proxy: proxy)
            #expect(await #expect(throws: APIError.self) { try await request.value() }?.type == .security)
        }
    }

    @Test func `An older response to the same request is a security error`() async throws {
        let scene = SealingScene()
        let responses = Recorded()
        scene.server.setChange { response in response = responses.exchange(with: response) }
        #expect(try await scene.send("pay") == #"{"text":"pay"}"#)
        for method in [HTTPMethod.post, .get] {
            let request = await APIRequest<String>("/echo", method: method, params: ["text": "pay"], proxy: scene.proxy)
            let error = await #expect(throws: APIError.self) { try await request.value() }
            #expect((error?.underlying as? SigningError)?.kind == .notAuthentic)
        }
        let nonces = scene.transport.requests.compactMap { $0.headers["X-Sealed-Nonce"] }
        #expect(Set(nonces).count == 3 && nonces.allSatisfy { $0.count == 32 })
    }

    @Test func `A response to HEAD need not be sealed`() async throws {
        let scene = SealingScene()
        scene.server.setChange { $0 = .status(200) }
        try await APIRequest<Void>("/a", method: .head, proxy: scene.proxy).value()
        await #expect(throws: APIError.self) { try await APIRequest<Void>("/a", proxy: scene.proxy).value() }
    }
}

/// Delivers responses of any status with their body.
private struct BodyTransport: HTTPTransport {
    let server: SealingServer

    func send(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler?
    ) async throws(TransportError) -> HTTPResponse {
        var body = Data()
        for case .data(let data) in request.body.pieces { body += data }
        return server.response(request.method.rawValue, request.url.path, request.headers, body)
    }
}
