import Errand
import ErrandTesting
import Foundation
import Testing

@testable import ErrandSigning

@Suite("Each send of a load has a signature of its own", .timeLimit(.minutes(5)))
struct SignedReplayTests {
    @Test func `A replay after a relogin is signed anew, with the time after it`() async throws {
        let signature = AWSSignature(region: "eu-central-1", service: "execute-api") { AWSSignatureTests.credentials }
        let account = Account()
        let scene = SigningScene({ $0.headers["X-Amz-Date"] == "20231114T221320Z" ? .status(401) : .json("{}") }) {
            $0.reloginHandler = account
            $0.sign(with: signature)
        }
        account.clock.withLock { $0 = scene.clock }
        try await scene.load()
        let headers = scene.transport.requests.map(\.headers)
        #expect(headers.map { $0["X-Amz-Date"] } == ["20231114T221320Z", "20231114T221321Z"])
        #expect(Set(headers.map { $0["Authorization"] }).count == 2)
    }

    @Test func `A retry is signed anew`() async throws {
        let signature = AWSSignature(region: "eu-central-1", service: "execute-api") { AWSSignatureTests.credentials }
        let scene = SigningScene({ _ in .status(503) }) {
            $0.retryPolicy = .once
            $0.sign(with: signature)
        }
        async let failure = scene.failure()
        await scene.clock.waitForSleepers()
        scene.clock.advance(by: .seconds(100))
        #expect(await failure?.status == 503)
        let headers = scene.transport.requests.map(\.headers)
        #expect(headers.map { $0["X-Amz-Date"] } == ["20231114T221320Z", "20231114T221500Z"])
        #expect(Set(headers.map { $0["Authorization"] }).count == 2)
    }
}

/// A login that takes one second.
@MainActor private final class Account: ReloginHandler {
    nonisolated let clock = Lock<ManualClock?>(nil)

    func relogin() async throws { clock.withLock { $0 }?.advance(by: .seconds(1)) }
}
