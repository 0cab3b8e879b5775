import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("A boxed value") struct BoxedTests {
    private struct Pair: Sendable {
        @Boxed var values: [Int]
        @Boxed var name: String

        init(_ values: [Int], _ name: String) {
            self.values = values
            self.name = name
        }
    }

    @Test("A change of one copy does not change the other") func copies() {
        let first = Pair([1], "a")
        var second = first
        second.values.append(2)
        second.name = "b"
        #expect(first.values == [1] && first.name == "a")
        #expect(second.values == [1, 2] && second.name == "b")
    }

    @Test("A single copy is changed in its place") func uniqueness() {
        var pair = Pair([], "")
        for number in 0..<100 { pair.values.append(number) }
        #expect(pair.values == Array(0..<100))
    }

    /// Asynchronous functions reserve memory for each of these values that they use, and each load has some thirty of them.
    @Test("Requests, responses and errors take at most two words") func sizes() {
        #expect(MemoryLayout<HTTPRequest>.size == 8)
        #expect(MemoryLayout<HTTPResponse>.size == 8)
        #expect(MemoryLayout<APIResponse>.size == 8)
        #expect(MemoryLayout<APIError>.size <= 16)
        #expect(MemoryLayout<TransportError>.size <= 16)
    }
}
