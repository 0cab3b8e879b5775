import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandImages
@testable import ErrandTestSupport

@MainActor @Suite("One load of an image for all callers", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(5)))
struct ImageSharingTests {
    @Test func `10,000 callers of one URL make one load and receive the image in their order`() async {
        let scene = ImageScene(holds: true)
        var receipts: [ImageReceipt] = []
        for number in 0..<10_000 { receipts.append(scene.load(7, "\(number)")) }
        await scene.reach(1)
        scene.network.releaseAll()
        await scene.end(10_000)
        #expect(scene.endings == (0..<10_000).map { "\($0): image 7" })
        #expect(scene.sent == [7])
        #expect(scene.decodings.count == 1)
        #expect(scene.loader.fetchCount == 1 && scene.loader.hitCount == 0)
        withExtendedLifetime(receipts) {}
    }

    @Test func `10,000 callers of a failed load receive the failure in their order`() async {
        let scene = ImageScene { _ in .status(404) }
        for number in 0..<10_000 { scene.load(7, "\(number)") }
        await scene.end(10_000)
        #expect(scene.endings == (0..<10_000).map { "\($0): http 404" })
        #expect(scene.sent == [7])
    }

    @Test func `A receipt cancels its own caller, and the others receive the image`() async {
        let scene = ImageScene(holds: true)
        let receipts = (0..<10).map { scene.load(7, "\($0)") }
        await scene.reach(1)
        for number in [0, 4, 9] { receipts[number].cancel() }
        receipts[4].cancel()
        scene.network.releaseAll()
        await scene.end(7)
        await scene.settle()
        #expect(scene.endings == [1, 2, 3, 5, 6, 7, 8].map { "\($0): image 7" })
    }

    @Test func `Different targets of one URL share the load, and are decoded and kept apart`() async {
        let scene = ImageScene()
        scene.load(7, "whole")
        for width in [100, 200, 100] { scene.load(7, "\(width)", width: width) }
        await scene.end(4)
        #expect(
            scene.endings.sorted() == [
                "100: image 7 100", "100: image 7 100", "200: image 7 200", "whole: image 7",
            ]
        )
        #expect(scene.sent == [7])
        #expect(scene.decodings.count == 3)
        #expect(scene.loader.memoryCache.count == 3)
        for (width, text) in [(nil, "image 7"), (100, "image 7 100"), (200, "image 7 200")] as [(Int?, String)] {
            #expect(await scene.loader.outcome(of: ImageScene.image(7, width)) == text)
        }
        #expect(scene.loader.hitCount == 3)
        #expect(scene.sent == [7])
    }

    @Test(.blocksThread) func `Callers of a target that is being decoded share that`() async {
        let (scene, checkpoint) = (ImageScene(), Checkpoint())
        defer { checkpoint.release() }
        scene.decodings.checkpoint.withLock { $0 = checkpoint }
        scene.load(7, "a")
        await suspend(while: !checkpoint.isReached)
        scene.load(7, "b")
        scene.load(7, "c", width: 100)
        checkpoint.release()
        await scene.end(3)
        #expect(scene.endings.sorted() == ["a: image 7", "b: image 7", "c: image 7 100"])
        #expect(scene.decodings.pictures.map(\.description).sorted() == ["7", "7 100"])
        #expect(scene.sent == [7])
    }

    @Test(.blocksThread) func `A target whose only caller has left while it was decoded is decoded again for another`()
        async
    {
        let (scene, checkpoint) = (ImageScene(), Checkpoint())
        defer { checkpoint.release() }
        scene.decodings.checkpoint.withLock { $0 = checkpoint }
        let left = scene.load(7, "left")
        await suspend(while: !checkpoint.isReached)
        scene.load(7, "other", width: 100)
        left.cancel()
        scene.load(7, "again")
        checkpoint.release()
        await scene.end(2)
        await scene.settle()
        #expect(scene.endings.sorted() == ["again: image 7", "other: image 7 100"])
        #expect(scene.sent == [7])
    }

    @Test func `A decoding that fails ends the callers of its target alone`() async {
        struct NoMemory: Error {}
        let scene = ImageScene(
            processings: ["round": { _ in throw NoMemory() }, "odd": { _ in throw APIError(.security) }]
        )
        scene.load(ImageScene.image(7), "whole")
        scene.load(ImageScene.image(7, processing: "round"), "round")
        scene.load(ImageScene.image(7, processing: "odd"), "odd")
        await scene.end(3)
        #expect(scene.endings.sorted() == ["odd: security", "round: decoding", "whole: image 7"])
        #expect(scene.sent == [7])
        #expect(scene.loader.memoryCache.count == 1)
    }

    @Test func `A processing runs after decoding, and an unknown one is refused before anything is sent`() async {
        let scene = ImageScene(
            processings: ["round": { Picture(number: $0.number, target: $0.target, processings: ["round"]) }]
        )
        let (round, square) = (ImageScene.image(7, 50, processing: "round"), ImageScene.image(8, processing: "square"))
        #expect(await scene.loader.outcome(of: round) == "image 7 50 round")
        #expect(await scene.loader.outcome(of: square) == "invalidRequest")
        scene.load(square, "square")
        let receipt = scene.load(square, "cancelled")
        receipt.cancel()
        _ = scene.loader.prefetch([square])
        await scene.end(1)
        await scene.settle()
        #expect(scene.endings == ["square: invalidRequest"])
        #expect(scene.sent == [7])
        #expect(scene.loader.fetchCount == 1)
    }

    @Test func `A request with other headers or another cache policy is another load`() async {
        let scene = ImageScene(holds: true, places: 10)
        var request = ImageScene.image(7)
        scene.load(request, "a")
        request.headers = ["X-Size": "2"]
        scene.load(request, "b")
        request.headers = ["x-size": "2"]
        scene.load(request, "b again")
        request.cachePolicy = .reload
        scene.load(request, "c")
        await scene.reach(3)
        scene.network.releaseAll()
        await scene.end(4)
        #expect(scene.sent.count == 3)
        #expect(scene.transport.requests.compactMap { $0.headers["X-Size"] } == ["2", "2"])
    }

    @Test func `An async call returns a hit at once, also in a cancelled task`() async {
        let scene = ImageScene()
        #expect(await scene.loader.outcome(of: ImageScene.image(7)) == "image 7")
        var hasReturned = false
        Task.immediate {
            #expect(await scene.loader.outcome(of: ImageScene.image(7)) == "image 7")
            hasReturned = true
        }
        #expect(hasReturned)
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return [
                await scene.loader.outcome(of: ImageScene.image(7)),
                await scene.loader.outcome(of: ImageScene.image(8)),
            ]
        }
        #expect(await cancelled.value == ["image 7", "cancelled"])
        #expect(scene.sent == [7])
    }

    @Test func `Cancelling a task throws cancelled, and leaves the others`() async {
        let scene = ImageScene(holds: true)
        let tasks = (0..<4).map { _ in Task { await scene.loader.outcome(of: ImageScene.image(7)) } }
        await scene.reach(1)
        tasks[0].cancel()
        tasks[2].cancel()
        #expect(await tasks[0].value == "cancelled")
        #expect(await tasks[2].value == "cancelled")
        scene.network.releaseAll()
        #expect(await tasks[1].value == "image 7")
        #expect(await tasks[3].value == "image 7")
        #expect(scene.sent == [7])
    }

    @Test func `The last task that is cancelled cancels the load`() async {
        let scene = ImageScene(holds: true)
        let tasks = (0..<2).map { _ in Task { await scene.loader.outcome(of: ImageScene.image(7)) } }
        await scene.reach(1)
        for task in tasks { task.cancel() }
        for task in tasks { #expect(await task.value == "cancelled") }
        await suspend(while: !scene.proxy.activeRequests.isEmpty)
        await scene.settle()
        #expect(scene.decodings.count == 0)
    }
}
