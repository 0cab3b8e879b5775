import Errand
import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import ErrandSigning

@Suite("A service that is sealed and signed", .hangLimit, .timeLimit(.minutes(5)))
struct SealedSignatureTests {
    private let scene = SealingScene()

    private func signature(_ form: AWSSignature.Form = .header) -> AWSSignature {
        var signature = AWSSignature(region: "eu-central-1", service: "execute-api") { AWSSignatureTests.credentials }
        signature.form = form
        return signature
    }

    private func send(_ query: String, to service: APIService) async throws -> APIResponse {
        let url = try #require(URL(string: "echo?\(query)"))
        let request = HTTPRequest(.post, url, headers: ["Content-Type": "text/plain"], body: .data(Data("hi".utf8)))
        return try await scene.proxy.send(request, to: service)
    }

    @Test(arguments: [false, true])
    func `A plus sign of the query is a space before it is sealed`(_ isSignedFirst: Bool) async throws {
        var service = try #require(scene.proxy.defaultService)
        let sealing = try #require(service.adapters.request.compactMap { $0.owner as? SealingAdapter }.first?.sealing)
        service.sign(with: signature())
        if isSignedFirst { service.seal(with: sealing) }
        let order = service.adapters.request.map(\.name)
        #expect(order == ["AWSQueryAdapter", "SealingAdapter", "AWSSigner"])
        _ = try await send("a=b+c", to: service)
        #expect(scene.server.bodies == ["hi"])
        let request = try #require(scene.transport.requests.last)
        #expect(request.url.query(percentEncoded: true) == "a=b%20c")
        #expect(request.headers["Authorization"] != nil)
    }

    @Test(arguments: [false, true])
    func `A signature in the query is refused`(_ isSignedFirst: Bool) async throws {
        var service = try #require(scene.proxy.defaultService)
        let sealing = try #require(service.adapters.request.compactMap { $0.owner as? SealingAdapter }.first?.sealing)
        service.sign(with: signature(.query(expiry: .seconds(300))))
        if isSignedFirst { service.seal(with: sealing) }
        let error = await #expect(throws: APIError.self) { try await send("a=1", to: service) }
        #expect(error?.type == .invalidRequest)
        #expect(error?.reason?.contains("form = .header") == true)
        #expect(scene.server.bodies.isEmpty)
    }

    @Test func `A response without a body may have the type of a sealed one`() async throws {
        scene.server.setChange { $0 = .status(200, headers: ["Content-Type": "application/x-sealed"]) }
        try await APIRequest<Void>("/a", method: .head, proxy: scene.proxy).value()
    }
}
