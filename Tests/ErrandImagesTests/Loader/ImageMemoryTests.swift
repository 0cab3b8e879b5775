import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandImages
@testable import ErrandTestSupport

@MainActor @Suite("Images in memory", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(5)))
struct ImageMemoryTests {
    private func key(_ number: Int) -> ImageKey { ImageKey(ImageSource(ImageScene.image(number)), .whole) }

    /// The numbers that are kept; this is no use of them.
    private func kept(_ scene: ImageScene, _ numbers: some Sequence<Int>) -> [Int] {
        let memory = scene.loader.memoryCache
        return numbers.filter { memory[key($0)] != nil }
    }

    @Test func `Beyond the capacity, those that were used longest ago are removed down to three fifths`() async {
        let scene = ImageScene()
        for number in 1...10 { _ = await scene.loader.outcome(of: ImageScene.image(number)) }
        #expect(scene.loader.memoryCache.bytes == 1000)
        #expect(scene.loader.memoryCache.count == 10)
        for number in [1, 4] { #expect(scene.loader.cachedImage(for: ImageScene.image(number)) != nil) }
        _ = await scene.loader.outcome(of: ImageScene.image(11))
        #expect(scene.loader.memoryCache.bytes == 600)
        #expect(kept(scene, 1...11) == [1, 4, 8, 9, 10, 11])
    }

    @Test func `An image larger than the capacity is delivered, not kept, and removes no other`() async {
        let scene = ImageScene()
        _ = await scene.loader.outcome(of: ImageScene.image(1))
        let large = ImageLoader(
            proxy: scene.proxy,
            decoder: ImageDecoder<Picture>(bytes: { $0.number * 100 }) { content, _ in
                Picture(number: content.header.width)
            },
            memoryCapacity: 500
        )
        for number in [1, 2, 6] { #expect(await large.outcome(of: ImageScene.image(number)) == "image \(number)") }
        #expect(large.memoryCache.count == 2 && large.memoryCache.bytes == 300)
        #expect(large.cachedImage(for: ImageScene.image(6)) == nil)
        #expect(await large.outcome(of: ImageScene.image(5)) == "image 5")
        // The newest one remains although it is more than three fifths.
        #expect(large.memoryCache.count == 1 && large.memoryCache.bytes == 500)
    }

    @Test func `With a capacity of zero nothing is kept`() async {
        let scene = ImageScene(capacity: 0)
        for _ in 0..<2 { #expect(await scene.loader.outcome(of: ImageScene.image(1)) == "image 1") }
        #expect(scene.loader.memoryCache.count == 0 && scene.loader.fetchCount == 2)
    }

    @Test func `In random runs, the bytes are those of the images, and the least recently used are removed`() {
        for seed in 0..<100 as Range<UInt64> {
            var random = SplitMix(seed: seed)
            let memory = ImageMemoryCache<Int>(capacity: 1000)
            var model: [(key: Int, bytes: Int)] = []
            for _ in 0..<100 {
                let number = Int.random(in: 0..<20, using: &random)
                let known = model.firstIndex { $0.key == number }
                if Bool.random(using: &random) {
                    #expect((memory[key(number)] != nil) == (known != nil))
                    if let known { model.append(model.remove(at: known)) }
                } else {
                    let bytes = Int.random(in: 0...1100, using: &random)
                    memory.insert(number, bytes: bytes, for: key(number))
                    if let known { model.remove(at: known) }
                    if bytes <= 1000 { model.append((number, bytes)) }
                    var sum: Int { model.reduce(0) { $0 + $1.bytes } }
                    if sum > 1000 { while sum > 600, model.count > 1 { model.removeFirst() } }
                }
                #expect(
                    memory.bytes == model.reduce(0) { $0 + $1.bytes } && memory.count == model.count,
                    "seed \(seed)"
                )
            }
            memory.removeAll()
            #expect(memory.bytes == 0 && memory.count == 0 && memory[key(1)] == nil)
        }
    }

    @Test func `An async call whose user signs out before it goes on receives no image`() async {
        let scene = ImageScene(holds: true)
        let call = Task { await scene.loader.outcome(of: ImageScene.image(7)) }
        await scene.reach(1)
        scene.loader.load(ImageScene.image(7)) { _ in scene.proxy.logout() }
        scene.network.release(7)
        #expect(await call.value == "cancelled")
    }

    @Test func `A reload bypasses memory and replaces what is kept`() async {
        let counter = Counter()
        let scene = ImageScene { _ in ImageNetwork.response("\(counter.next()).png") }
        #expect(await scene.loader.outcome(of: ImageScene.image(7)) == "image 1")
        #expect(await scene.loader.outcome(of: ImageScene.image(7)) == "image 1")
        #expect(await scene.loader.outcome(of: ImageScene.image(7, policy: .reload)) == "image 2")
        #expect(scene.loader.cachedImage(for: ImageScene.image(7, policy: .reload)) == nil)
        #expect(await scene.loader.outcome(of: ImageScene.image(7)) == "image 2")
        _ = scene.loader.prefetch([ImageScene.image(7, policy: .reload)])
        await suspend(while: scene.loader.cachedImage(for: ImageScene.image(7))?.number == 2)
        #expect(scene.loader.memoryCache.count == 1 && scene.loader.memoryCache.bytes == 100)
    }

    @Test(arguments: [true, false])
    func `A reload for one target replaces the image for all of them`(_ isOfRequest: Bool) async {
        let counter = Counter()
        let scene = ImageScene { _ in ImageNetwork.response("\(counter.next()).png") }
        for width in [20, 40] { _ = await scene.loader.outcome(of: ImageScene.image(7, width)) }
        _ = await scene.loader.outcome(of: ImageScene.image(8))
        if !isOfRequest { scene.loader.options.cachePolicy = .reload }
        let whole = ImageScene.image(7, policy: isOfRequest ? .reload : nil)
        #expect(await scene.loader.outcome(of: whole) == "image 4")
        scene.loader.options.cachePolicy = .http
        for width in [20, 40] { #expect(scene.loader.cachedImage(for: ImageScene.image(7, width)) == nil) }
        #expect(scene.loader.cachedImage(for: ImageScene.image(7))?.number == 4)
        #expect(scene.loader.cachedImage(for: ImageScene.image(8)) != nil)
    }

    @Test func `An image that the app puts into memory is that of the request, until it is removed`() async {
        let scene = ImageScene()
        let picture = Picture(number: 99)
        scene.loader.setCachedImage(picture, for: ImageScene.image(7))
        #expect(scene.loader.cachedImage(for: ImageScene.image(7)) == picture)
        #expect(scene.loader.cachedImage(for: ImageScene.image(7, 20)) == nil)
        #expect(scene.loader.memoryCache.bytes == 100)
        scene.loader.setCachedImage(nil, for: ImageScene.image(7))
        #expect(await scene.loader.outcome(of: ImageScene.image(7)) == "image 7")
        #expect(scene.loader.fetchCount == 1)
        scene.proxy.logout()
        scene.loader.setCachedImage(picture, for: ImageScene.image(8))
        #expect(scene.loader.memoryCache.count == 1)
    }

    @Test func `A load that is older than what the app has put into memory does not replace it`() async {
        let scene = ImageScene(holds: true)
        scene.load(7, "old")
        await scene.reach(1)
        scene.loader.setCachedImage(Picture(number: 99), for: ImageScene.image(7))
        scene.network.release(7)
        await scene.end(1)
        #expect(scene.endings == ["old: image 7"])
        #expect(scene.loader.cachedImage(for: ImageScene.image(7))?.number == 99)
        scene.loader.setCachedImage(nil, for: ImageScene.image(7))
        scene.load(7, "new")
        await scene.end(2)
        #expect(scene.sent == [7, 7])
    }

    @Test func `An image that waits for several targets keeps its place when the app puts one into memory`() async {
        let scene = ImageScene(holds: true, places: 1)
        scene.load(1)
        let targets = [nil, 20].map { scene.loader.load(ImageScene.image(7, $0)) { _ in } }
        scene.load(8)
        scene.loader.setCachedImage(Picture(number: 99), for: ImageScene.image(7))
        scene.network.releaseAll()
        await scene.reach(3)
        #expect(scene.sent == [1, 7, 8])
        withExtendedLifetime(targets) {}
    }

    @Test func `An image that waits is not loaded when the app puts it into memory`() async {
        let scene = ImageScene(holds: true, places: 1)
        scene.load(1)
        scene.load(7, "a")
        scene.loader.setCachedImage(Picture(number: 99), for: ImageScene.image(7))
        await suspend(while: scene.endings.isEmpty)
        #expect(scene.endings == ["a: image 99"])
        scene.network.releaseAll()
        await scene.end(2)
        #expect(scene.sent == [1])
        #expect(scene.loader.cachedImage(for: ImageScene.image(7))?.number == 99)
    }

    @Test func `An image that waits is loaded once, although the app has removed the one in memory`() async {
        let scene = ImageScene(holds: true, places: 1)
        scene.load(1)
        scene.load(7, "a")
        scene.loader.setCachedImage(nil, for: ImageScene.image(7))
        scene.load(7, "b")
        scene.network.releaseAll()
        await scene.end(3)
        #expect(scene.sent == [1, 7])
        #expect(scene.loader.cachedImage(for: ImageScene.image(7))?.number == 7)
    }

    @Test func `removeAll of the memory during a load loses no image`() async {
        let scene = ImageScene(holds: true)
        scene.load(7)
        await scene.reach(1)
        scene.loader.memoryCache.removeAll()
        scene.network.releaseAll()
        await scene.end(1)
        #expect(scene.endings == ["7: image 7"])
        #expect(scene.loader.memoryCache.count == 1)
    }

    @Test func `A second loader is answered from the cache of the proxy, without a request`() async throws {
        let folder = try TemporaryFolder()
        let cache = APICache(folder: folder.url.appending(path: "cache"))
        let scene = ImageScene(cache: cache) { request in
            let headers: HTTPHeaders = ["Cache-Control": "max-age=60"]
            return ImageNetwork.response(request.url.lastPathComponent, size: 50_000, headers: headers)
        }
        #expect(await scene.loader.outcome(of: ImageScene.image(7)) == "image 7")
        let other = ImageLoader(proxy: scene.proxy, decoder: scene.decodings.decoder(bytes: 1))
        #expect(other.cachedImage(for: ImageScene.image(7)) == nil)
        #expect(await other.outcome(of: ImageScene.image(7, 100)) == "image 7 100")
        #expect(scene.sent == [7])
        let reload = ImageScene.image(7, 100, policy: .reload)
        #expect(await other.outcome(of: reload) == "image 7 100")
        #expect(scene.sent == [7, 7])
        let stored = ImageScene.image(7, 200, policy: .onlyIfCached)
        #expect(await other.outcome(of: stored) == "image 7 200")
        #expect(await other.outcome(of: ImageScene.image(8, policy: .onlyIfCached)) == "http 504")
        #expect(scene.sent == [7, 7])
    }

    @Test(arguments: [CachePolicy.http, .elseLoad])
    func `A response whose image cannot be decoded is loaded again`(_ policy: CachePolicy) async throws {
        struct Damage: Error {}
        let folder = try TemporaryFolder()
        let cache = APICache(folder: folder.url.appending(path: "cache"))
        let scene = ImageScene(cache: cache) { _ in
            ImageNetwork.response("7.png", size: 50_000, headers: ["Cache-Control": "max-age=60"])
        }
        let isDamaged = Lock(true)
        let decoder = ImageDecoder<Picture>(bytes: { _ in 1 }) { content, target in
            guard !isDamaged.withLock(\.self) else { throw Damage() }
            return Picture(number: content.header.width, target: target)
        }
        let loader = ImageLoader(proxy: scene.proxy, decoder: decoder)
        loader.options.cachePolicy = policy
        #expect(await loader.outcome(of: ImageScene.image(7)).hasPrefix("decoding"))
        isDamaged.withLock { $0 = false }
        #expect(await loader.outcome(of: ImageScene.image(7)) == "image 7")
        #expect(scene.sent == [7, 7])
        let other = ImageLoader(proxy: scene.proxy, decoder: decoder)
        other.options.cachePolicy = policy
        #expect(await other.outcome(of: ImageScene.image(7)) == "image 7")
        #expect(scene.sent == [7, 7])
    }

    @Test func `A processing that throws removes nothing that is stored`() async throws {
        struct TooSmall: Error {}
        let folder = try TemporaryFolder()
        let scene = ImageScene(cache: APICache(folder: folder.url.appending(path: "cache"))) { _ in
            ImageNetwork.response("7.png", size: 50_000, headers: ["Cache-Control": "max-age=60"])
        }
        let decoder = scene.decodings.decoder(bytes: 1).processing("faces") { _ in throw TooSmall() }
        let loader = ImageLoader(proxy: scene.proxy, decoder: decoder)
        let request = ImageRequest(ImageScene.image(7).url, target: ImageTarget(processing: "faces"))
        for _ in 0..<2 { #expect(await loader.outcome(of: request).hasPrefix("decoding")) }
        #expect(await loader.outcome(of: ImageScene.image(7)) == "image 7")
        #expect(scene.sent == [7])
    }

    @Test func `An image that is stored first is shown offline`() async throws {
        let folder = try TemporaryFolder()
        let cache = APICache(folder: folder.url.appending(path: "cache"))
        let isOffline = Lock(false)
        let scene = ImageScene(cache: cache) { _ in
            guard !isOffline.withLock(\.self) else { throw TransportError(.noNetwork, "offline") }
            return ImageNetwork.response("7.png", size: 50_000, headers: ["Cache-Control": "no-store"])
        }
        scene.loader.options.cachePolicy = .first
        #expect(await scene.loader.outcome(of: ImageScene.image(7)) == "image 7")
        isOffline.withLock { $0 = true }
        #expect(await scene.loader.outcome(of: ImageScene.image(7, 100)) == "image 7 100")
    }

    @Test func `An image behind a redirect is kept under the URL of the redirect's target`() async throws {
        let folder = try TemporaryFolder()
        let cache = APICache(folder: folder.url.appending(path: "cache"))
        let scene = ImageScene(cache: cache) { request in
            guard request.url.host == "cdn.test" else {
                return .status(302, headers: ["Location": "http://cdn.test/7.png"])
            }
            return ImageNetwork.response("7.png", size: 50_000, headers: ["Cache-Control": "max-age=60"])
        }
        #expect(await scene.loader.outcome(of: ImageScene.image(7)) == "image 7")
        let other = ImageLoader(proxy: scene.proxy, decoder: scene.decodings.decoder(bytes: 1))
        #expect(await other.outcome(of: ImageScene.image(7, 100)) == "image 7 100")
        #expect(scene.transport.requests.count { $0.url.host == "cdn.test" } == 1)
        #expect(scene.transport.requests.count == 3)
    }

    @Test func `What is stored beyond the limits of a loader is refused there, and remains for others`() async throws {
        let folder = try TemporaryFolder()
        let cache = APICache(folder: folder.url.appending(path: "cache"))
        let scene = ImageScene(cache: cache) { request in
            ImageNetwork.response("7.png", size: 50_000, headers: ["Cache-Control": "max-age=60"])
        }
        #expect(await scene.loader.outcome(of: ImageScene.image(7)) == "image 7")
        let small = ImageLoader(
            proxy: scene.proxy,
            decoder: scene.decodings.decoder(bytes: 1),
            limits: ImageLimits(bytes: 40_000)
        )
        #expect(await small.outcome(of: ImageScene.image(7)) == "responseTooLarge tooManyBytes")
        let sent = scene.sent
        #expect(await scene.loader.outcome(of: ImageScene.image(7, 100)) == "image 7 100")
        #expect(scene.sent == sent)
    }
}
