import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandImages
@testable import ErrandTestSupport

@MainActor @Suite("The places of a loader with a cache", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(5)))
struct ImageGateTests {
    /// Counts the loads that have found nothing and wait for a place.
    private final class QueueMonitor: APIMonitor {
        private let queued = Counter()
        var count: Int { queued.count }

        func observe(_ event: APIEvent) {
            if case .queued = event.kind { _ = queued.next() }
        }
    }

    /// A loader whose proxy has stored the images from 1 to 9; downloads are held.
    @MainActor private final class GateScene {
        let folder: TemporaryFolder
        let scene: ImageScene
        let monitor = QueueMonitor()
        /// Those that a test has stored do not count.
        let former: Int

        init(places: Int = 2, order: ImageOrder = .firstInFirstOut, storing stored: Int = 9) async throws {
            folder = try TemporaryFolder()
            let cache = APICache(folder: folder.url.appending(path: "cache"))
            let network = ImageNetwork()
            scene = ImageScene(network: network, places: places, order: order, cache: cache, monitors: [monitor]) {
                request in
                _ = try await network.respond(request)
                let headers: HTTPHeaders = ["Cache-Control": "max-age=60"]
                return ImageNetwork.response(request.url.lastPathComponent, headers: headers)
            }
            for number in 0..<stored {
                #expect(await scene.loader.outcome(of: ImageScene.image(number + 1)) == "image \(number + 1)")
            }
            scene.loader.memoryCache.removeAll()
            network.hold()
            former = monitor.count
        }

        /// The numbers of the images that were sent since.
        var sent: [Int] { Array(scene.sent.dropFirst(9)) }
        var queuedCount: Int { monitor.count - former }

        /// Waits until this many loads have found nothing, and wait.
        func queue(_ count: Int) async { await suspend(while: queuedCount < count) }

        /// Takes both places with images that are not stored.
        func takePlaces() async {
            for number in [90, 91] { scene.load(number) }
            await scene.reach(11)
        }
    }

    @Test(arguments: [ImageOrder.firstInFirstOut, .lastInFirstOut])
    func `What is stored is shown while downloads have all places`(_ order: ImageOrder) async throws {
        let gate = try await GateScene(order: order)
        await gate.takePlaces()
        for number in [1, 50, 2, 51, 3, 4, 5] { gate.scene.load(number) }
        await gate.scene.end(5)
        #expect(gate.scene.endings.sorted() == (1...5).map { "\($0): image \($0)" })
        #expect(gate.sent.sorted() == [90, 91])
        await gate.scene.settle()
        await gate.scene.end(9)
        #expect(gate.sent.count == 4)
    }

    @Test func `What is not stored is sent in the order in which it was asked for`() async throws {
        for (order, expected) in [
            (ImageOrder.firstInFirstOut, [61, 60, 62, 63, 64]), (.lastInFirstOut, [61, 64, 63, 62, 60]),
        ] {
            let gate = try await GateScene(places: 1, order: order)
            gate.scene.load(90)
            await gate.scene.reach(10)
            for number in 60...64 { gate.scene.load(number, priority: number == 61 ? .userInitiated : .normal) }
            await gate.queue(5)
            gate.scene.network.releaseAll()
            await gate.scene.end(6)
            #expect(Array(gate.sent.dropFirst()) == expected)
        }
    }

    @Test func `No more images than places are on the wire, and each has one again`() async throws {
        let gate = try await GateScene(places: 3)
        for number in 30..<60 { gate.scene.load(number) }
        await gate.scene.reach(12)
        await gate.queue(27)
        #expect(gate.sent.count == 3)
        for number in gate.sent { gate.scene.network.release(number) }
        await gate.scene.reach(15)
        #expect(gate.sent.count == 6)
        await gate.scene.settle()
        await gate.scene.end(30)
        #expect(Set(gate.sent).count == 30)
    }

    @Test func `The priority of an image that waits for a place moves it`() async throws {
        let gate = try await GateScene()
        await gate.takePlaces()
        let prefetch = gate.scene.prefetch([50, 51])
        let receipts = [60, 61, 62].map { gate.scene.load($0) }
        await gate.queue(5)
        receipts[2].setPriority(.userInitiated)
        receipts[0].setPriority(.background)
        prefetch.setPriority(.normal)
        gate.scene.network.release(90)
        await gate.scene.end(1)
        await gate.scene.reach(12)
        #expect(gate.sent.last == 62)
        gate.scene.network.release(62)
        await gate.scene.reach(13)
        #expect(gate.sent.last == 61)
        for (released, next) in [(61, 50), (50, 51), (51, 60)] {
            gate.scene.network.release(released)
            await gate.scene.reach(gate.scene.sent.count + 1)
            #expect(gate.sent.last == next)
        }
        await gate.scene.settle()
        await gate.scene.end(5)
    }

    @Test func `An image that is cancelled while it waits for a place is never sent`() async throws {
        let gate = try await GateScene()
        await gate.takePlaces()
        let receipts = (60..<70).map { gate.scene.load($0) }
        await gate.queue(10)
        for receipt in receipts.dropLast() { receipt.cancel() }
        await suspend(while: gate.scene.proxy.activeRequests.count > 3)
        await gate.scene.settle()
        await gate.scene.end(3)
        #expect(gate.sent.sorted() == [69, 90, 91])
        #expect(gate.scene.proxy.activeRequests.isEmpty)
    }

    @Test(arguments: ["loader", "proxy", "logout"])
    func `Whoever ends all loads ends those that wait for a place`(_ way: String) async throws {
        let gate = try await GateScene()
        await gate.takePlaces()
        for number in 60..<70 { gate.scene.load(number) }
        await gate.queue(10)
        switch way {
        case "loader": gate.scene.loader.cancelAll()
        case "proxy": gate.scene.proxy.cancelAllRequests()
        default: gate.scene.proxy.logout()
        }
        await gate.scene.end(12)
        #expect(Set(gate.scene.endings.map { $0.split(separator: ":").last ?? "" }) == [" cancelled"])
        await gate.scene.settle()
        #expect(gate.sent.sorted() == [90, 91])
        #expect(await gate.scene.loader.outcome(of: ImageScene.image(70)) == "image 70")
    }

    @Test func `An image that the app puts into memory ends those who wait for a place, and one removed is loaded`()
        async throws
    {
        let gate = try await GateScene()
        await gate.takePlaces()
        for number in [60, 61] { gate.scene.load(number) }
        await gate.queue(2)
        gate.scene.loader.setCachedImage(Picture(number: 600), for: ImageScene.image(60))
        gate.scene.loader.setCachedImage(nil, for: ImageScene.image(61))
        await gate.scene.end(1)
        #expect(gate.scene.endings == ["60: image 600"])
        await gate.scene.settle()
        await gate.scene.end(4)
        #expect(gate.scene.loader.cachedImage(for: ImageScene.image(61))?.number == 61)
        #expect(gate.sent.sorted() == [61, 90, 91])
    }

    @Test func `Of prefetches, a limited number waits with a load of its own, and none of them delays a stored image`()
        async throws
    {
        let gate = try await GateScene()
        await gate.takePlaces()
        let prefetch = gate.scene.prefetch(100..<400)
        await gate.queue(64)
        gate.scene.load(1)
        await gate.scene.end(1)
        #expect(gate.scene.endings == ["1: image 1"])
        #expect(gate.scene.proxy.activeRequests.count < 75)
        prefetch.cancel()
        await gate.scene.settle()
        await gate.scene.end(3)
    }

    @Test func `Of images, a limited number waits with a load of its own, and all are loaded`() async throws {
        let gate = try await GateScene()
        await gate.takePlaces()
        for number in 100..<450 { gate.scene.load(number) }
        await gate.queue(256)
        // Time enough for all of them.
        let other = ImageLoader(proxy: gate.scene.proxy, decoder: DecodingLog().decoder(bytes: 100), memoryCapacity: 0)
        for _ in 0..<150 { #expect(await other.outcome(of: ImageScene.image(1)) == "image 1") }
        #expect(gate.queuedCount < 260)
        gate.scene.load(1, "seen", priority: .userInitiated)
        await gate.scene.end(1)
        #expect(gate.scene.endings == ["seen: image 1"])
        await gate.scene.settle()
        await gate.scene.end(353)
        #expect(Set(gate.sent).count == 352)
    }

    @Test func `A load has the priority of its caller's task, not of the one that has found nothing before it`()
        async throws
    {
        let folder = try TemporaryFolder()
        let cache = APICache(folder: folder.url.appending(path: "cache"))
        let priorities = Lock<[String: TaskPriority]>([:])
        let scene = ImageScene(network: ImageNetwork(), places: 1, cache: cache) { request in
            let name = request.url.lastPathComponent
            priorities.withLock { $0[name] = Task.currentPriority }
            return ImageNetwork.response(name)
        }
        // Nobody waits for this task, which would raise its priority.
        Task(priority: .background) {
            for number in 1...3 { scene.load(number) }
            Task(priority: .userInitiated) { for number in 50..<80 { scene.load(number) } }
        }
        await scene.end(33)
        let later = priorities.withLock { all in (50..<80).compactMap { all["\($0).png"] } }
        #expect(later.count == 30 && !later.contains(.background))
    }

    @Test(arguments: [CachePolicy.time(.seconds(604_800)), .elseLoad, .version(3), .http])
    func `A reload replaces what is stored by the policy of the loader`(_ policy: CachePolicy) async throws {
        let folder = try TemporaryFolder()
        let (version, cache) = (Counter(), APICache(folder: folder.url.appending(path: "cache")))
        let scene = ImageScene(network: ImageNetwork(), cache: cache) { _ in
            ImageNetwork.response("\(version.next()).png", headers: ["Cache-Control": "max-age=60"])
        }
        scene.loader.options.cachePolicy = policy
        #expect(await scene.loader.outcome(of: ImageScene.image(7)) == "image 1")
        #expect(await scene.loader.outcome(of: ImageScene.image(7, policy: .reload)) == "image 2")
        scene.loader.memoryCache.removeAll()
        #expect(await scene.loader.outcome(of: ImageScene.image(7)) == "image 2")
        #expect(version.count == 2)
    }

    @Test func `An image whose policy looks for nothing stored any more has one place alone`() async throws {
        let gate = try await GateScene()
        await gate.takePlaces()
        // The options apply to the loads that begin then.
        for number in 60..<70 { gate.scene.load(number) }
        gate.scene.loader.options.cachePolicy = .reload
        gate.scene.network.release(90)
        await gate.scene.end(1)
        await gate.scene.reach(12)
        #expect(gate.sent.count == 3)
        await gate.scene.settle()
        await gate.scene.end(12)
    }

    @Test func `No deadline runs while an image waits for a place`() async throws {
        let gate = try await GateScene()
        await gate.takePlaces()
        gate.scene.loader.options.deadline = .seconds(5)
        gate.scene.load(60)
        await gate.queue(1)
        await suspend(while: gate.scene.clock.sleepers > 0)
        gate.scene.clock.advance(by: .seconds(20))
        await gate.scene.settle()
        await gate.scene.end(3)
        #expect(gate.scene.endings.sorted() == [60, 90, 91].map { "\($0): image \($0)" })
    }
}
