import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("The index of items", .hangLimit, .timeLimit(.minutes(10)))
struct ItemIndexTests {
    /// An ID with many hash collisions.
    private struct Colliding: Hashable {
        let value: Int
        func hash(into hasher: inout Hasher) { hasher.combine(value & 7) }
    }

    @Test(arguments: [false, true]) func `The index agrees with a set`(isColliding: Bool) {
        func hash(_ value: Int) -> Int { isColliding ? Colliding(value: value).hashValue : value.hashValue }
        var random = SplitMix(seed: 7)
        var index = ItemIndex()
        var set: [Int: UInt32] = [:]
        var values: [UInt32: Int] = [:]
        for serial in UInt32(1)...(isColliding ? 2_000 : 20_000) {
            let value = Int.random(in: 0..<(isColliding ? 200 : 2_000), using: &random)
            if let known = set[value], Bool.random(using: &random) {
                index.remove(hash: hash(value), serial: known)
                set[value] = nil
                continue
            }
            let isNew = index.insert(hash: hash(value), serial: serial) { values[$0] == value }
            #expect(isNew == (set[value] == nil))
            guard isNew else { continue }
            set[value] = serial
            values[serial] = value
        }
        for (value, serial) in set {
            #expect(!index.insert(hash: hash(value), serial: 1 << 31) { values[$0] == value })
            index.remove(hash: hash(value), serial: serial)
        }
    }

    @Test func `A removal from an empty index does nothing`() {
        var index = ItemIndex()
        index.remove(hash: 1, serial: 1)
        #expect(index.insert(hash: 1, serial: 1) { _ in true })
        #expect(!index.insert(hash: 1, serial: 2) { _ in true })
    }
}
