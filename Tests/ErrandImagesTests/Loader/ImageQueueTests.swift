import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandImages
@testable import ErrandTestSupport

@MainActor @Suite("The places of a loader", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(5)))
struct ImageQueueTests {
    /// A loader with one place, which image 99 takes until ``sent(by:)``.
    private func busyScene(_ order: ImageOrder = .firstInFirstOut) async -> ImageScene {
        let scene = ImageScene(holds: true, places: 1, order: order)
        scene.load(99)
        await scene.reach(1)
        return scene
    }

    /// The order in which the images are sent that wait.
    private func sent(by scene: ImageScene, _ count: Int) async -> [Int] {
        scene.network.releaseAll()
        await scene.reach(count + 1)
        await scene.settle()
        return Array(scene.sent.dropFirst())
    }

    @Test(arguments: [1, 3, 8])
    func `No more images than places are on the wire`(_ places: Int) async {
        let counts = Lock((current: 0, highest: 0))
        let network = ImageNetwork(holds: true)
        let scene = ImageScene(places: places) { request in
            counts.withLock { counts in
                counts.current += 1
                counts.highest = max(counts.highest, counts.current)
            }
            defer { counts.withLock { $0.current -= 1 } }
            return try await network.respond(request)
        }
        for number in 1...60 { scene.load(number) }
        await scene.reach(places)
        #expect(scene.loader.fetchCount == places)
        network.releaseAll()
        await scene.end(60)
        #expect(counts.withLock(\.highest) == places)
        #expect(scene.loader.fetchCount == 60)
    }

    @Test func `First in first out is the default, and last in first out is for fast scrolling`() async {
        let scene = await busyScene()
        for number in 1...5 { scene.load(number) }
        #expect(await sent(by: scene, 5) == [1, 2, 3, 4, 5])
        let stack = await busyScene(.lastInFirstOut)
        for number in 1...5 { stack.load(number) }
        #expect(await sent(by: stack, 5) == [5, 4, 3, 2, 1])
    }

    @Test func `The order can be changed while images wait`() async {
        let scene = await busyScene()
        for number in 1...3 { scene.load(number) }
        scene.loader.order = .lastInFirstOut
        #expect(await sent(by: scene, 3) == [3, 2, 1])
    }

    @Test(arguments: [ImageOrder.firstInFirstOut, .lastInFirstOut])
    func `userInitiated is first, background last, and a prefetch after them`(_ order: ImageOrder) async {
        let scene = await busyScene(order)
        let prefetch = scene.prefetch([4])
        scene.load(1, priority: .background)
        scene.load(2)
        scene.load(3, priority: .userInitiated)
        #expect(await sent(by: scene, 4) == [3, 2, 1, 4])
        withExtendedLifetime(prefetch) {}
    }

    @Test func `An image has the highest priority of its callers`() async {
        let scene = await busyScene()
        scene.load(1)
        scene.load(2, priority: .background)
        let urgent = scene.load(2, "urgent", priority: .userInitiated)
        scene.load(3)
        scene.load(3, "urgent", priority: .userInitiated)
        urgent.cancel()
        #expect(await sent(by: scene, 3) == [3, 1, 2])
    }

    @Test func `A changed priority moves an image that waits to the end of its new rank`() async {
        let scene = await busyScene()
        let receipts = (1...4).map { scene.load($0) }
        receipts[2].setPriority(.userInitiated)
        receipts[0].setPriority(.background)
        receipts[0].setPriority(.normal)
        receipts[3].setPriority(.normal)
        #expect(await sent(by: scene, 4) == [3, 2, 4, 1])
    }

    @Test func `A joining caller of the same rank does not move an image`() async {
        let scene = await busyScene()
        for number in [1, 2, 1, 1] { scene.load(number) }
        #expect(await sent(by: scene, 2) == [1, 2])
    }

    @Test func `The priority of a load in the queue of the proxy changes with that of its callers`() async throws {
        let network = ImageNetwork(holds: true)
        let transport = ScriptedTransport(fallback: network.respond)
        let proxy = APIProxy(
            service: .sample(),
            transport: transport,
            queueLimits: QueueLimits(perHost: 1, total: 1)
        )
        let loader = ImageLoader(proxy: proxy, decoder: DecodingLog().decoder(bytes: 1))
        var ended = 0
        let receipts = [1, 2, 3].map { number in loader.load(ImageScene.image(number)) { _ in ended += 1 } }
        await transport.waitForRequests()
        await suspend(while: proxy.queuedCount < 2)
        receipts[2].setPriority(.userInitiated)
        #expect(proxy.activeRequests.map(\.priority) == [.normal, .normal, .userInitiated])
        let join = loader.load(ImageScene.image(2), priority: .userInitiated) { _ in ended += 1 }
        #expect(proxy.activeRequests.map(\.priority) == [.normal, .userInitiated, .userInitiated])
        join.cancel()
        #expect(proxy.activeRequests.map(\.priority) == [.normal, .normal, .userInitiated])
        network.releaseAll()
        await suspend(while: ended < 3)
        #expect(transport.requests.map(\.url.lastPathComponent) == ["1.png", "3.png", "2.png"])
    }

    @Test func `An image that waits for a retry leaves its place, and returns to it`() async {
        let refused = Lock(Set<String>())
        let network = ImageNetwork()
        let scene = ImageScene(network: network, places: 2, service: .sample { $0.retryPolicy = RetryPolicy() }) {
            let name = $0.url.lastPathComponent
            let isFirst = ["1.png", "2.png"].contains(name) && refused.withLock { $0.insert(name).inserted }
            return isFirst ? .status(503, headers: ["Retry-After": "4"]) : try await network.respond($0)
        }
        for number in 1...4 { scene.load(number) }
        await scene.end(2)
        #expect(Set(scene.endings) == ["3: image 3", "4: image 4"])
        await scene.clock.waitForSleepers(2)
        scene.clock.advance(by: .seconds(4))
        await scene.end(4)
        #expect(Set(scene.endings.suffix(2)) == ["1: image 1", "2: image 2"])
    }

    @Test func `As many images as there are places may leave them for a retry`() async {
        let counts = Lock((current: 0, highest: 0))
        let refused = Lock(Set<String>())
        let network = ImageNetwork(holds: true)
        let scene = ImageScene(network: network, places: 2, service: .sample { $0.retryPolicy = RetryPolicy() }) {
            let name = $0.url.lastPathComponent
            if refused.withLock({ $0.insert(name).inserted }) {
                return .status(503, headers: ["Retry-After": "4"])
            }
            counts.withLock { ($0.current, $0.highest) = ($0.current + 1, max($0.highest, $0.current + 1)) }
            defer { counts.withLock { $0.current -= 1 } }
            return try await network.respond($0)
        }
        for number in 1...9 { scene.load(number) }
        await scene.clock.waitForSleepers(4)
        #expect(scene.loader.fetchCount == 4)
        scene.clock.advance(by: .seconds(4))
        await suspend(while: counts.withLock(\.current) < 4)
        network.releaseAll()
        while scene.endings.count < 9 {
            let ended = scene.endings.count
            await suspend(while: scene.endings.count == ended && scene.clock.sleepers == 0)
            scene.clock.advance(by: .seconds(4))
        }
        #expect(counts.withLock(\.highest) == 4)
    }

    // MARK: Prefetch

    @Test(arguments: [(1, 1), (2, 1), (3, 1), (4, 2), (9, 4)])
    func `Prefetches take at most half of the places`(_ places: Int, _ expected: Int) async {
        let scene = ImageScene(holds: true, places: places)
        let prefetch = scene.prefetch(1...20)
        await scene.reach(expected)
        #expect(scene.loader.fetchCount == expected)
        #expect(scene.proxy.activeRequests.allSatisfy { $0.priority == .background })
        // The other places are for what is visible.
        for number in 50..<(50 + places - expected) { scene.load(number) }
        #expect(scene.loader.fetchCount == places)
        await scene.settle()
        await suspend(while: scene.decodings.endedCount < 20 + places - expected)
        #expect(scene.decodings.count == 20 + places - expected)
        #expect(scene.endings.count == places - expected)
        withExtendedLifetime(prefetch) {}
    }

    @Test func `A prefetch waits until no other image does`() async {
        let scene = ImageScene(holds: true, places: 2)
        for number in [1, 2] { scene.load(number) }
        await scene.reach(2)
        let prefetch = scene.prefetch([10, 11])
        for number in [3, 4] { scene.load(number, priority: .background) }
        for number in 1...4 {
            scene.network.release(number)
            await scene.end(number)
            await scene.reach(min(number + 2, 5))
        }
        #expect(scene.sent.prefix(2).sorted() == [1, 2] && scene.sent[2..<4] == [3, 4])
        #expect(scene.sent.dropFirst(4) == [10])
        await scene.settle()
        await suspend(while: scene.loader.memoryCache.count < 6)
        #expect(scene.endings.count == 4)
        withExtendedLifetime(prefetch) {}
    }

    @Test func `A load joins a prefetch that waits, and lifts it`() async {
        let scene = ImageScene(holds: true)
        let prefetch = scene.prefetch(1...6)
        await scene.reach(2)
        scene.load(6)
        await scene.reach(3)
        #expect(scene.sent.sorted() == [1, 2, 6])
        await scene.settle()
        await scene.end(1)
        #expect(scene.endings == ["6: image 6"])
        #expect(scene.sent.count { $0 == 6 } == 1)
        withExtendedLifetime(prefetch) {}
    }

    @Test func `A load that joins a prefetch on the wire gives its place to the next prefetch`() async {
        let scene = ImageScene(holds: true)
        let prefetch = scene.prefetch(1...6)
        await scene.reach(2)
        scene.load(1)
        #expect(scene.loader.fetchCount == 3)
        await scene.reach(3)
        prefetch.setPriority(.normal)
        #expect(scene.loader.fetchCount == 4)
        await scene.settle()
        await suspend(while: scene.loader.memoryCache.count < 6)
        #expect(scene.endings == ["1: image 1"])
    }

    @Test func `Cancelling a prefetch leaves what others have asked for`() async {
        let scene = ImageScene(holds: true)
        let prefetch = scene.prefetch(1...6)
        await scene.reach(2)
        for number in [1, 6] { scene.load(number) }
        // The third prefetch has the place of the one that was lifted.
        await scene.reach(4)
        prefetch.cancel()
        await scene.settle()
        await scene.end(2)
        #expect(scene.endings.sorted() == ["1: image 1", "6: image 6"])
        #expect(scene.sent.sorted() == [1, 2, 3, 6])
        #expect(scene.loader.fetchCount == 4)
    }

    @Test func `What is in memory is not prefetched`() async {
        let scene = ImageScene()
        _ = await scene.loader.outcome(of: ImageScene.image(1))
        let prefetch = scene.prefetch([1, 2, 2])
        await suspend(while: scene.loader.memoryCache.count < 2)
        #expect(scene.sent == [1, 2])
        #expect(scene.loader.hitCount == 0)
        withExtendedLifetime(prefetch) {}
    }

    // MARK: The queue by itself

    private final class Element: Sendable {
        let number: Int
        init(_ number: Int) { self.number = number }
    }

    @Test func `In random runs, the queue returns what a sorted array does`() {
        for seed in 0..<200 as Range<UInt64> {
            var random = SplitMix(seed: seed)
            var queue = ImageQueue<Element>()
            var model: [(element: Element, rank: ImageRank, ticket: Int)] = []
            for step in 0..<200 {
                switch Int.random(in: 0..<4, using: &random) {
                case 0, 1:
                    let known = Bool.random(using: &random) ? model.randomElement(using: &random)?.element : nil
                    let element = known ?? Element(step)
                    let rank = ImageRank.allCases.randomElement(using: &random) ?? .normal
                    // Mostly the highest one, and none twice.
                    let isOld = Int.random(in: 0..<4, using: &random) == 0
                    let ticket = (isOld ? Int.random(in: 0...step, using: &random) : step) * 1_000 + step
                    queue.insert(element, rank: rank, ticket: ticket)
                    model.removeAll { $0.element === element }
                    model.append((element, rank, ticket))
                case 2:
                    guard let element = model.randomElement(using: &random)?.element else { continue }
                    queue.remove(element)
                    model.removeAll { $0.element === element }
                default:
                    let order = Bool.random(using: &random) ? ImageOrder.firstInFirstOut : .lastInFirstOut
                    let lowest = Bool.random(using: &random) ? ImageRank.prefetch : .background
                    let sorted = model.filter { $0.rank >= lowest }.sorted { one, other in
                        if one.rank != other.rank { return one.rank > other.rank }
                        return order == .firstInFirstOut ? one.ticket < other.ticket : one.ticket > other.ticket
                    }
                    let next = queue.next(order, from: lowest)
                    #expect(next === sorted.first?.element, "seed \(seed)")
                    model.removeAll { $0.element === next }
                }
            }
            while let next = queue.next(.firstInFirstOut, from: .prefetch) { model.removeAll { $0.element === next } }
            #expect(model.isEmpty)
        }
    }
}
