import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandImages
@testable import ErrandTestSupport

/// Where the image of a caller is.
enum ImageInstant: CaseIterable, Sendable {
    /// In the queue of the loader, behind another image.
    case waiting
    case onTheWire
    /// The load has succeeded, which the main actor has not been told.
    case responded
    case decoding
    /// The main actor has not been told that it is decoded.
    case decoded
    /// Found in memory; the closure has not been called.
    case hit

    /// Whether its load is in the table of the proxy.
    var isLoading: Bool { self == .onTheWire || self == .responded }
    /// Whether it is or was being decoded.
    var isDecoded: Bool { self == .decoding || self == .decoded }
}

extension ImageScene {
    /// Loads image 1 for the caller `a`, then whatever `next` loads, and returns at an instant before any of them ends.
    ///
    /// The suite needs the trait `blocksThread`; ``settle()`` lets the image go on.
    func reach(_ instant: ImageInstant, _ next: () -> Void = {}) async -> ImageReceipt {
        let checkpoint = Checkpoint()
        if instant.isDecoded { decodings.checkpoint.withLock { $0 = checkpoint } }
        switch instant {
        case .hit:
            network.release(1)
            _ = await loader.outcome(of: Self.image(1))
        case .waiting:
            for number in 0..<loader.maxConcurrentLoads { load(90 + number) }
            await reach(loader.maxConcurrentLoads)
        case .onTheWire, .responded, .decoding, .decoded: break
        }
        let receipt = load(1, "a")
        next()
        guard instant != .hit, instant != .waiting else { return receipt }
        await reach(1)
        guard instant != .onTheWire else { return receipt }
        network.release(1)
        if instant == .responded {
            spin(while: proxy.delivery.count == 0)
            return receipt
        }
        await suspend(while: !checkpoint.isReached)
        guard instant == .decoded else { return receipt }
        checkpoint.release()
        spin(while: decodings.endedCount == 0)
        return receipt
    }
}
