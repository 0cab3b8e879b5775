import Foundation
import TestSupport
import Testing

@testable import ErrandTestSupport

@Suite("The shop's server command", .startsPrograms, .limitedConcurrency, .timeLimit(.minutes(10)))
@MainActor struct ServeTests {
    @Test("prints its address, responses, and ends when interrupted")
    func serves() async throws {
        let pipe = Pipe()
        let shop = try ShopProcess(["serve"], output: pipe)
        let greeting = await pipe.firstLine()
        let url = try #require(greeting.firstMatch(of: /http:\/\/127\.0\.0\.1:\d+/)?.output)
        let walk = try await ShopProcess.run(["--base-url", String(url)])
        #expect(walk.status == 0, "\(walk.standardError)")
        shop.interrupt()
        #expect(try await shop.ending().status == 0)
    }
}

extension Pipe {
    /// Waits for the first line that is written into the pipe.
    fileprivate func firstLine() async -> String {
        let (parts, news) = AsyncStream.makeStream(of: Data.self)
        fileHandleForReading.readabilityHandler = { news.yield($0.availableData) }
        var text = Data()
        for await part in parts {
            text += part
            if part.isEmpty || part.contains(UInt8(ascii: "\n")) { break }
        }
        fileHandleForReading.readabilityHandler = nil
        return String(decoding: text, as: UTF8.self)
    }
}
