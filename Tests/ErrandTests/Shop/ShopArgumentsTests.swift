import Foundation
import TestSupport
import Testing

@testable import ErrandTestSupport

@Suite("The shop's arguments", .startsPrograms, .limitedConcurrency, .timeLimit(.minutes(10)))
@MainActor struct ShopArgumentsTests {
    @Test("are explained on request")
    func help() async throws {
        let ending = try await ShopProcess.run(["--help"])
        #expect(ending.status == 0)
        #expect(ending.output.starts(with: "usage: shop"))
        #expect(ending.standardError == "")
    }

    @Test(
        "are refused in one line when they are invalid",
        arguments: [
            ["--color"], ["walk"], ["--base-url"], ["--base-url", "ftp://example.com"], ["--base-url="],
            ["--base-url", "http://a.example", "--base-url", "http://b.example"], ["--port", "80"],
            ["serve", "--port", "65536"], ["--report"], ["--report="], ["serve", "80"], ["resume"], ["download"],
        ]
    )
    func wrong(arguments: [String]) async throws {
        let ending = try await ShopProcess.run(arguments)
        #expect(ending.status == 64)
        #expect(ending.output == "")
        #expect(ending.standardError.wholeMatch(of: /shop: [^\n]+\n/) != nil)
    }
}
