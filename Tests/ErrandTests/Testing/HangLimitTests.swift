import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("A test that hangs fails, and is cancelled", .timeLimit(.minutes(10)))
struct HangLimitTests {
    private func run(_ limit: HangLimit, _ body: @Sendable @concurrent () async throws -> Void) async throws {
        let test = try #require(Test.current)
        try await limit.provideScope(for: test, testCase: Test.Case.current, performing: body)
    }

    @Test func `A wait that its cancellation ends is an issue, and the test ends`() async throws {
        let ended = Counter()
        try await withKnownIssue {
            try await run(HangLimit(beats: 2)) {
                try? await Latch().wait()
                _ = ended.next()
            }
        } matching: {
            $0.description.contains("has not ended")
        }
        #expect(ended.count == 1)
    }

    @Test func `A wait that ignores its cancellation is an issue, and the test is abandoned`() async throws {
        let latch = Latch()
        let abandoned = Lock("")
        try await withKnownIssue {
            let limit = HangLimit(beats: 1) { name in
                abandoned.withLock { $0 = name }
                latch.open()
            }
            try await run(limit) { await latch.waitIgnoringCancellation() }
        } matching: {
            $0.description.contains("has not ended")
        }
        #expect(abandoned.withLock(\.self).contains("ignores its cancellation"))
    }

    @Test func `A test that ends in time has its own outcome alone`() async throws {
        struct Failure: Error {}
        try await run(HangLimit(beats: 10_000) { Issue.record("abandoned \($0)") }) {}
        await #expect(throws: Failure.self) {
            try await run(HangLimit(beats: 10_000) { Issue.record("abandoned \($0)") }) { throw Failure() }
        }
    }
}
