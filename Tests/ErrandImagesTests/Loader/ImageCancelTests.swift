import ErrandTesting
import FixtureServer
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandImages
@testable import ErrandTestSupport

@MainActor
@Suite("Cancelling images", .serialized, .limitedConcurrency, .blocksThread, .hangLimit, .timeLimit(.minutes(5)))
struct ImageCancelTests {
    @Test(arguments: ImageInstant.allCases)
    func `A cancelled caller is never called, whenever it is cancelled`(_ instant: ImageInstant) async {
        let scene = ImageScene(holds: true)
        let receipt = await scene.reach(instant)
        receipt.cancel()
        #expect(scene.proxy.activeRequests.allSatisfy { !$0.path.hasSuffix("/1.png") })
        await scene.settle()
        #expect(!scene.endings.contains { $0.hasPrefix("a:") })
        #expect(scene.decodings.pictures.count { $0.number == 1 } == (instant.isDecoded || instant == .hit ? 1 : 0))
        #expect(scene.sent.count { $0 == 1 } == (instant == .waiting ? 0 : 1))
        // Its place is free.
        #expect(await scene.loader.outcome(of: ImageScene.image(1)) == "image 1")
    }

    @Test(arguments: ImageInstant.allCases)
    func `Another caller still receives the image, whenever the first is cancelled`(_ instant: ImageInstant) async {
        let scene = ImageScene(holds: true)
        let receipt = await scene.reach(instant) { scene.load(1, "b") }
        receipt.cancel()
        await scene.settle()
        await suspend(while: !scene.endings.contains { $0.hasPrefix("b") })
        #expect(scene.endings.filter { !$0.hasPrefix("9") } == ["b: image 1"])
        #expect(scene.sent.count { $0 == 1 } == 1)
    }

    @Test(arguments: ImageInstant.allCases)
    func `A caller that joins after the only one has left receives the image`(_ instant: ImageInstant) async {
        let scene = ImageScene(holds: true)
        let receipt = await scene.reach(instant)
        receipt.cancel()
        scene.load(1, "b")
        await scene.settle()
        await suspend(while: !scene.endings.contains { $0.hasPrefix("b") })
        #expect(scene.endings.filter { !$0.hasPrefix("9") } == ["b: image 1"])
    }

    @Test(arguments: ImageInstant.allCases)
    func `A cancelled task throws cancelled once, whenever it is cancelled`(_ instant: ImageInstant) async {
        let scene = ImageScene(holds: true)
        var task: Task<String, Never>?
        var hasBegun = false
        let receipt = await scene.reach(instant) {
            task = Task.immediate {
                hasBegun = true
                return await scene.loader.outcome(of: ImageScene.image(1))
            }
        }
        #expect(hasBegun)
        receipt.cancel()
        task?.cancel()
        // The ending that was on its way may be before the cancel, which is delivered as well.
        let isDone = instant == .hit || instant == .decoded
        let outcome = await task?.value
        #expect(outcome == "cancelled" || isDone && outcome == "image 1")
        await scene.settle()
        #expect(!scene.endings.contains { $0.hasPrefix("a:") })
    }

    @Test(arguments: ImageInstant.allCases)
    func `cancelAll ends every caller as cancelled`(_ instant: ImageInstant) async {
        let scene = ImageScene(holds: true)
        let receipt = await scene.reach(instant) {
            scene.load(1, "b", width: 100)
            for number in 2..<50 { scene.load(number) }
        }
        let begun = scene.loader.fetchCount
        scene.loader.cancelAll()
        #expect(scene.loader.fetchCount == begun)
        #expect(scene.proxy.activeRequests.isEmpty)
        await scene.settle()
        #expect(scene.loader.fetchCount == begun)
        // What is in memory is no load.
        #expect(scene.endings.first { $0.hasPrefix("a:") } == (instant == .hit ? "a: image 1" : "a: cancelled"))
        #expect(scene.endings.filter { !$0.hasPrefix("a:") }.allSatisfy { $0.hasSuffix(": cancelled") })
        #expect(scene.endings.count == 50 + (instant == .waiting ? 4 : 0))
        withExtendedLifetime(receipt) {}
    }

    @Test func `A caller that another one cancels in its closure is never called`() async {
        let scene = ImageScene(holds: true)
        let others = ImageReceipts()
        scene.onEnding = { name in
            if name == "a" { others.cancel() }
        }
        scene.load(7, "a")
        others.all = [scene.load(7, "b"), scene.load(7, "c"), scene.load(8, "d")]
        scene.load(7, "e")
        scene.network.release(7)
        await scene.end(2)
        await scene.settle()
        #expect(scene.endings == ["a: image 7", "e: image 7"])
    }

    @Test func `A caller that another one cancels in the closure of an error or a hit is never called`() async {
        let scene = ImageScene { request in
            request.url.path.contains("404") ? .status(404) : ImageNetwork.response("7.png")
        }
        _ = await scene.loader.outcome(of: ImageScene.image(7))
        for number in [7, 404] {
            scene.removeEndings()
            let first = scene.load(number, "a")
            let second = scene.load(number, "b")
            scene.load(number, "c")
            scene.onEnding = { if $0 == "a" { second.cancel() } }
            await scene.end(2)
            await scene.settle()
            #expect(scene.endings.map { $0.prefix(1) } == ["a", "c"])
            first.cancel()
        }
    }

    @Test func `A caller that has ended is not ended again by its receipt`() async {
        let scene = ImageScene()
        let receipts = ImageReceipts()
        scene.onEnding = { _ in receipts.all[0].cancel() }
        receipts.all = [scene.load(7, "a"), scene.load(7, "b")]
        await scene.end(2)
        for receipt in receipts.all {
            receipt.cancel()
            receipt.setPriority(.userInitiated)
        }
        await scene.settle()
        #expect(scene.endings == ["a: image 7", "b: image 7"])
    }

    @Test func `The last cancel closes the connection, and nothing is decoded`() async throws {
        let gate = Gate()
        defer { gate.open() }
        let server = try FixtureServer.start { _ in
            let file = PNGFile.bytes(7, size: 100_000)
            let head = Response(status: 200, headers: ["Content-Length": "\(file.count)"], steps: [])
            return head.followed(
                by: .write(Array(file.prefix(5_000))),
                .pass(gate),
                .write(Array(file.dropFirst(5_000)))
            )
        }
        let proxy = APIProxy(service: APIService(baseURL: server.baseURL))
        let decodings = DecodingLog()
        let loader = ImageLoader(proxy: proxy, decoder: decodings.decoder(bytes: 1))
        var endings = 0
        let receipts = (0..<3).map { _ in loader.load(ImageRequest(URL("/7.png"))) { _ in endings += 1 } }
        _ = try await server.takeRequest()
        for receipt in receipts.dropLast() { receipt.cancel() }
        #expect(proxy.activeRequests.count == 1)
        #expect(server.openConnections == 1)
        receipts.last?.cancel()
        #expect(proxy.activeRequests.isEmpty)
        #expect(await server.waitForOpenConnections(0))
        await sentinel(proxy)
        #expect(endings == 0 && decodings.count == 0)
    }

    @Test func `Cancelling many receipts one by one sends none of what waited`() async {
        let scene = ImageScene(holds: true)
        let receipts = (0..<100).map { scene.load($0) }
        await scene.reach(4)
        for receipt in receipts.reversed() { receipt.cancel() }
        await scene.settle()
        #expect(scene.sent.sorted() == [0, 1, 2, 3])
        #expect(scene.loader.fetchCount == 4)
        #expect(scene.endings.isEmpty)
    }

    @Test func `A cancelled prefetch sends none of what waited, and frees its places`() async {
        let scene = ImageScene(holds: true)
        let prefetch = scene.prefetch(0..<1000)
        await scene.reach(2)
        prefetch.cancel()
        prefetch.cancel()
        #expect(scene.proxy.activeRequests.isEmpty)
        await scene.settle()
        #expect(scene.loader.fetchCount == 2)
        #expect(scene.sent.sorted() == [0, 1])
        #expect(scene.decodings.count == 0)
        _ = scene.prefetch([5])
        await suspend(while: scene.loader.memoryCache.count == 0)
        #expect(scene.loader.cachedImage(for: ImageScene.image(5)) == Picture(number: 5))
    }

    @Test func `After cancelAllRequests of the proxy, a new caller gets the image and the old ones cancelled`() async {
        for instant in ImageInstant.allCases {
            let scene = ImageScene(holds: true)
            let receipt = await scene.reach(instant)
            scene.proxy.cancelAllRequests()
            scene.load(1, "b")
            #expect(scene.endings.isEmpty)
            await scene.settle()
            await suspend(while: scene.endings.count { !$0.hasPrefix("9") } < 2)
            let expected = ["a: \(instant.isLoading ? "cancelled" : "image 1")", "b: image 1"]
            #expect(scene.endings.filter { !$0.hasPrefix("9") }.sorted() == expected, "\(instant)")
            withExtendedLifetime(receipt) {}
        }
    }

    @Test func `A load that somebody else cancels by its ID ends its callers as cancelled`() async throws {
        let scene = ImageScene(holds: true)
        let receipts = [scene.load(7, "a"), scene.load(7, "b", width: 100)]
        await scene.reach(1)
        let id = try #require(scene.proxy.activeRequests.first?.id)
        #expect(scene.proxy.cancelRequest(id))
        await scene.end(2)
        #expect(scene.endings == ["a: cancelled", "b: cancelled"])
        scene.network.releaseAll()
        #expect(await scene.loader.outcome(of: ImageScene.image(7)) == "image 7")
        withExtendedLifetime(receipts) {}
    }

    @Test(arguments: ImageInstant.allCases)
    func `Callers of a loader that is released get their endings`(_ instant: ImageInstant) async {
        let scene = ImageScene(holds: true, places: 1)
        weak let former = scene.loader
        let receipt = await scene.reach(instant) { for number in 2..<5 { scene.load(number) } }
        scene.loader = ImageLoader(proxy: scene.proxy, decoder: scene.decodings.decoder(bytes: 1))
        await scene.settle()
        await suspend(while: scene.endings.count { !$0.hasPrefix("9") } < 4)
        #expect(Set(scene.endings).isSuperset(of: ["a: image 1", "2: image 2", "3: image 3", "4: image 4"]))
        await suspend(while: former != nil)
        receipt.cancel()
    }
}

@MainActor @Suite("Anything inside a closure", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(5)))
struct ImageReentrancyTests {
    /// What a closure does.
    enum Action: CaseIterable, Sendable {
        case loadSame, loadReload, loadOther, cancelSelf, cancelOthers, cancelAll, cancelAllRequests, logout
        case removeMemory, prefetch, setPriority, release
    }

    /// How the image ends in whose closure that is.
    enum Ending: CaseIterable, Sendable {
        case success, hit, failure, cancelled
    }

    @Test(arguments: Ending.allCases, Action.allCases)
    func `Whatever a closure does, each caller ends at most once, and none waits for ever`(
        _ ending: Ending,
        _ action: Action
    ) async throws {
        let network = ImageNetwork(holds: ending == .cancelled)
        let scene = ImageScene(places: 2) { request in
            request.url.path.hasSuffix("/404.png") ? .status(404) : try await network.respond(request)
        }
        let number = ending == .failure ? 404 : 1
        if ending == .hit { _ = await scene.loader.outcome(of: ImageScene.image(1)) }
        let receipts = ImageReceipts()
        scene.onEnding = { name in
            guard name == "a" else { return }
            switch action {
            case .loadSame: scene.load(number, "new")
            case .loadReload: scene.load(number, "new", policy: .reload)
            case .loadOther: scene.load(77, "new")
            case .cancelSelf: receipts.all[0].cancel()
            case .cancelOthers: receipts.cancel()
            case .cancelAll: scene.loader.cancelAll()
            case .cancelAllRequests: scene.proxy.cancelAllRequests()
            case .logout: scene.proxy.logout()
            case .removeMemory: scene.loader.memoryCache.removeAll()
            case .prefetch: _ = scene.loader.prefetch([number, 78].map { ImageScene.image($0) })
            case .setPriority: for receipt in receipts.all { receipt.setPriority(.userInitiated) }
            case .release: scene.loader = ImageLoader(proxy: scene.proxy, decoder: scene.decodings.decoder(bytes: 1))
            }
        }
        let names = ["a", "b", "c", "d", "e"]
        receipts.all = [
            scene.load(number, "a"), scene.load(number, "b"), scene.load(number, "c", width: 100), scene.load(2, "d"),
            scene.load(3, "e"),
        ]
        if ending == .cancelled {
            await scene.reach(2)
            let request = scene.proxy.activeRequests.first { $0.path.hasSuffix("/1.png") }
            scene.proxy.cancelRequest(try #require(request?.id))
            await scene.end(1)
        }
        network.releaseAll()
        let isLoading = [.loadSame, .loadReload, .loadOther].contains(action)
        let expected = Set(names + (isLoading ? ["new"] : []))
        if action == .cancelOthers {
            await scene.end(1)
            await scene.settle()
        } else {
            await scene.end(expected.count)
            await scene.settle()
            #expect(Set(scene.endings.map { String($0.prefix { $0 != ":" }) }) == expected)
        }
        #expect(Set(scene.endings.map { $0.prefix { $0 != ":" } }).count == scene.endings.count)
        // The loader still works.
        scene.onEnding = nil
        #expect(await scene.loader.outcome(of: ImageScene.image(50)) == "image 50")
    }

    @Test func `A closure that loads the same image again and again receives hits, each after a turn`() async {
        let scene = ImageScene()
        var rest = 1_000
        scene.onEnding = { _ in
            guard rest > 0 else { return }
            rest -= 1
            scene.load(7)
        }
        scene.load(7)
        await scene.end(1_001)
        #expect(scene.sent == [7])
    }

    @Test func `A failed image may be loaded again in its closure, one request at a time`() async {
        let count = Counter()
        let scene = ImageScene { _ in count.next() < 5 ? .status(404) : ImageNetwork.response("7.png") }
        scene.onEnding = { _ in if scene.endings.last?.hasSuffix("404") == true { scene.load(7) } }
        scene.load(7)
        await scene.end(5)
        await scene.settle()
        #expect(scene.endings == Array(repeating: "7: http 404", count: 4) + ["7: image 7"])
    }

    /// A monitor that runs a closure of the test when a load of an image begins.
    private final class BeginMonitor: APIMonitor {
        let action = Lock<(@MainActor @Sendable () -> Void)?>(nil)

        func observe(_ event: APIEvent) {
            guard case .began = event.kind, let action = action.withLock({ exchange(&$0, with: nil) }) else { return }
            MainActor.assumeIsolated { action() }
        }
    }

    @Test(arguments: [Action.cancelAll, .cancelSelf, .loadSame, .loadOther, .logout, .setPriority, .cancelAllRequests])
    func `A monitor may do anything while a load begins`(_ action: Action) async {
        let monitor = BeginMonitor()
        let scene = ImageScene(places: 1, monitors: [monitor])
        scene.load(99)
        let receipt = scene.load(1, "a")
        monitor.action.withLock {
            $0 = {
                switch action {
                case .cancelAll: scene.loader.cancelAll()
                case .cancelSelf: receipt.cancel()
                case .loadSame: scene.load(1, "new", priority: .userInitiated)
                case .loadOther: scene.load(2, "new")
                case .logout: scene.proxy.logout()
                case .setPriority: receipt.setPriority(.userInitiated)
                default: scene.proxy.cancelAllRequests()
                }
            }
        }
        let isLoading = action == .loadSame || action == .loadOther
        await scene.end(action == .cancelSelf ? 1 : isLoading ? 3 : 2)
        await scene.settle()
        let own = scene.endings.first { $0.hasPrefix("a") }
        switch action {
        case .cancelSelf: #expect(own == nil)
        case .cancelAll, .logout, .cancelAllRequests: #expect(own == "a: cancelled")
        default: #expect(own == "a: image 1")
        }
        if isLoading { #expect(scene.endings.contains { $0.hasPrefix("new: image") }) }
        #expect(await scene.loader.outcome(of: ImageScene.image(50)) == "image 50")
    }
}

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
