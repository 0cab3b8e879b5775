import Foundation
import Testing

@testable import ErrandImages

/// Mutated images from a fixed seed, for ten minutes with `ERRAND_SLOW_TESTS=1` and for a second otherwise.
@Suite(.timeLimit(.minutes(15)))
struct ImageFuzzTests {
    private static let duration: Duration =
        ProcessInfo.processInfo.environment["ERRAND_SLOW_TESTS"] == "1" ? .seconds(600) : .seconds(1)

    @Test func `No mutated image traps or violates an invariant`() throws {
        var random = Mutations(seed: 2026)
        let samples = ImageSamples.all.map(\.bytes)
        let end = ContinuousClock.now + Self.duration
        while ContinuousClock.now < end {
            for sample in samples {
                let bytes = random.mutated(sample)
                let pixels = random.isTrue ? 100_000_000 : Int.max
                let limits = ImageLimits(pixels: pixels, bytes: random.isTrue ? 32 << 20 : 1000)
                let violation = HeaderChecks.violation(byReading: bytes, limits: limits)
                try #require(violation == nil, "\(Data(bytes).base64EncodedString())")
                let cutViolation = bytes.count < 300 ? HeaderChecks.violation(byCutsOf: bytes) : nil
                try #require(cutViolation == nil, "\(Data(bytes).base64EncodedString())")
            }
        }
    }
}

/// Changes that keep most of a header, so that they reach all of its reader.
private struct Mutations {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// SplitMix64.
    private mutating func next(below bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((mixed ^ (mixed >> 31)) % UInt64(max(1, bound)))
    }

    var isTrue: Bool { mutating get { next(below: 2) == 0 } }

    mutating func mutated(_ sample: [UInt8]) -> [UInt8] {
        var bytes = sample
        for _ in 0..<1 + next(below: 4) { mutate(&bytes) }
        // So that a mutation of IHDR is not always stopped by its checksum.
        if bytes.count > 33, isTrue { bytes.replaceSubrange(29..<33, with: chunk("", Array(bytes[12..<29])).suffix(4)) }
        return bytes
    }

    private mutating func mutate(_ bytes: inout [UInt8]) {
        guard !bytes.isEmpty else { return }
        let position = next(below: bytes.count)
        let extremes: [UInt8] = [0, 1, 0x7F, 0x80, 0xFF, 0xFE, 0x20, 0x3C, 0x22]
        switch next(below: 7) {
        case 0: bytes[position] ^= 1 << UInt8(next(below: 8))
        case 1: bytes[position] = extremes[next(below: extremes.count)]
        case 2: for index in bytes[position...].indices.prefix(4) { bytes[index] = isTrue ? 0xFF : 0 }
        case 3: bytes.removeSubrange(position..<min(bytes.count, position + 1 + next(below: 8)))
        case 4: bytes.insert(contentsOf: bytes[position...].prefix(next(below: 40)), at: position)
        case 5: bytes.removeSubrange(position...)
        default: bytes.insert(contentsOf: [UInt8](repeating: bytes[position], count: next(below: 3000)), at: position)
        }
    }
}
