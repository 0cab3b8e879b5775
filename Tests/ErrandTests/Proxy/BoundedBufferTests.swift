import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("A bounded buffer keeps the newest values in their order")
struct BoundedBufferTests {
    @Test(arguments: [1, 2, 7, 8, 9, 40])
    func `It behaves as an array that drops its first value when it is full`(_ capacity: Int) {
        var random = SplitMix(seed: UInt64(capacity))
        var (buffer, model) = (BoundedBuffer<Int>(capacity: capacity), [Int]())
        for value in 0..<5_000 {
            // More values in one half, fewer in the other.
            if Int.random(in: 0..<10, using: &random) < (value % 200 < 100 ? 7 : 3) {
                let dropped = buffer.append(value)
                #expect(dropped == (model.count == capacity ? model.removeFirst() : nil))
                model.append(value)
            } else {
                #expect(buffer.removeFirst() == (model.isEmpty ? nil : model.removeFirst()))
            }
            #expect(buffer.count == model.count)
        }
    }
}
