import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandImages
@testable import ErrandTestSupport

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
