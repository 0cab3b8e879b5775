import Foundation
import Testing

@Suite("The shop that serves", .timeLimit(.minutes(1)))
@MainActor struct ServeTests {
    @Test("tells its address, answers, and ends when interrupted")
    func serves() async throws {
        let shop = try ShopProcess(["serve"])
        let pipe = Pipe()
        async let ending = shop.run(output: pipe.fileHandleForWriting)
        let greeting = try #require(await pipe.text().first(where: \.containsAddress))
        let url = try #require(greeting.firstMatch(of: /http:\/\/127\.0\.0\.1:\d+/)?.output)
        let walk = try await ShopProcess(["--base-url", String(url)]).run()
        #expect(walk.status == 0, "\(walk.complaint)")
        shop.interrupt()
        #expect(try await ending.status == 0)
    }
}

extension String {
    fileprivate var containsAddress: Bool { contains("http://") }
}

extension Pipe {
    /// What is written into the pipe, as it comes.
    fileprivate func text() -> AsyncStream<String> {
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        fileHandleForReading.readabilityHandler = { handle in
            let data = handle.availableData
            guard data.isEmpty else {
                continuation.yield(String(decoding: data, as: UTF8.self))
                return
            }
            handle.readabilityHandler = nil
            continuation.finish()
        }
        return stream
    }
}
