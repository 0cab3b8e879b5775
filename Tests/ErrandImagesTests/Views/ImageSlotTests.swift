import ErrandTesting
import ErrandUI
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandImages
@testable import ErrandTestSupport

@MainActor @Suite("A view that is used again shows the image of its newest request", .timeLimit(.minutes(10)))
struct ImageSlotTests {
    /// What a view has shown, such as `placeholder` or `image 7`.
    @MainActor final class View {
        let slot = ImageSlot<Picture>()
        private(set) var shown: [String] = []
        var onShow: (@MainActor (String) -> Void)?

        func show(_ number: Int?, in scene: ImageScene, policy: CachePolicy? = nil) {
            let request = number.map { ImageScene.image($0, policy: policy) }
            slot.show(request, from: scene.loader) { [weak self] content in self?.record(content) }
        }

        private func record(_ content: ImageSlotContent<Picture>) {
            let text =
                switch content {
                case .placeholder: "placeholder"
                case .image(let picture, let isFromMemory): isFromMemory ? "memory \(picture)" : "image \(picture)"
                case .failure(let error): error.text
                }
            shown.append(text)
            onShow?(text)
        }

        /// Waits until it has shown something this often.
        func show(times count: Int) async { await suspend(while: shown.count < count) }
    }

    @Test func `An image is shown after a placeholder, and at once if it is in memory`() async {
        let (scene, view, other) = (ImageScene(), View(), View())
        view.show(7, in: scene)
        #expect(view.shown == ["placeholder"])
        await view.show(times: 2)
        #expect(view.shown == ["placeholder", "image 7"])
        other.show(7, in: scene)
        #expect(other.shown == ["memory 7"])
        #expect(scene.loader.fetchCount == 1)
    }

    @Test func `The image of a former request is never shown, and its load is cancelled`() async {
        let (scene, view) = (ImageScene(holds: true), View())
        view.show(1, in: scene)
        await scene.reach(1)
        view.show(2, in: scene)
        await scene.reach(2)
        scene.network.release(1)
        scene.network.release(2)
        await view.show(times: 3)
        await scene.settle()
        #expect(view.shown == ["placeholder", "placeholder", "image 2"])
        #expect(scene.loader.cachedImage(for: ImageScene.image(1)) == nil)
    }

    @Test func `A request that is being loaded is not loaded again, and one that has failed is`() async {
        let scene = ImageScene(holds: true) { _ in HTTPResponse(status: 404) }
        let view = View()
        view.show(1, in: scene)
        view.show(1, in: scene)
        await view.show(times: 3)
        #expect(view.shown == ["placeholder", "placeholder", "http 404"])
        #expect(scene.loader.fetchCount == 1)
        view.show(1, in: scene)
        await view.show(times: 5)
        #expect(view.shown.last == "http 404")
        #expect(scene.loader.fetchCount == 2)
    }

    @Test func `Without a request, the placeholder is shown and nothing else`() async {
        let (scene, view) = (ImageScene(holds: true), View())
        view.show(1, in: scene)
        await scene.reach(1)
        view.show(nil, in: scene)
        await scene.settle()
        #expect(view.shown == ["placeholder", "placeholder"])
        view.show(2, in: scene)
        view.slot.cancel()
        await scene.settle()
        #expect(view.shown == ["placeholder", "placeholder", "placeholder"])
    }

    @Test(arguments: [false, true])
    func `A load that is cancelled elsewhere keeps the placeholder, and a later show loads`(_ logsOut: Bool) async {
        let (scene, view) = (ImageScene(holds: true), View())
        view.show(1, in: scene)
        await scene.reach(1)
        if logsOut { scene.proxy.logout() } else { scene.loader.cancelAll() }
        await scene.settle()
        #expect(view.shown == ["placeholder"])
        view.show(1, in: scene)
        await view.show(times: 3)
        #expect(view.shown == ["placeholder", "placeholder", "image 1"])
    }

    @Test func `A request that is shown again in the turn of its cancellation is loaded again`() async {
        let (scene, view) = (ImageScene(holds: true), View())
        view.show(1, in: scene)
        await scene.reach(1)
        scene.proxy.cancelAllRequests()
        view.show(1, in: scene)
        await scene.reach(2)
        scene.network.release(1)
        await view.show(times: 3)
        #expect(view.shown == ["placeholder", "placeholder", "image 1"])
    }

    @Test func `What is shown may show another request`() async {
        let scene = ImageScene()
        let view = View()
        view.onShow = { [weak view] in if $0 == "image 1" { view?.show(2, in: scene) } }
        view.show(1, in: scene)
        await view.show(times: 4)
        #expect(view.shown == ["placeholder", "image 1", "placeholder", "image 2"])
    }

    @Test func `A view that is released cancels its load`() async {
        let scene = ImageScene(holds: true)
        var view: View? = View()
        view?.show(1, in: scene)
        await scene.reach(1)
        view = nil
        await suspend(while: !scene.proxy.activeRequests.isEmpty)
        await scene.settle()
        #expect(scene.decodings.count == 0)
    }

    @Test func `No view of a fast scroll ever shows another image than its own`() async {
        let scene = ImageScene(capacity: 2_000, keepsRequests: false)
        let views = (0..<10).map { _ in View() }
        var random = SplitMix(seed: 7)
        var (first, wanted) = (0, [Int?](repeating: nil, count: views.count))
        for (index, view) in views.enumerated() {
            view.onShow = { text in
                guard let number = text.split(separator: " ").last.flatMap({ Int($0) }) else { return }
                #expect(number == wanted[index])
            }
        }
        for _ in 0..<300 {
            first = max(1, first + .random(in: -3...9, using: &random))
            for (index, view) in views.enumerated() {
                wanted[index] = first + index
                view.show(first + index, in: scene)
            }
            let cancelled = Int.random(in: 0..<views.count * 2, using: &random)
            if views.indices.contains(cancelled) { views[cancelled].slot.cancel() }
            for _ in 0..<Int.random(in: 0...20, using: &random) { await Task.yield() }
        }
        for (index, view) in views.enumerated() { view.show(first + index, in: scene) }
        await suspend(while: views.contains { $0.shown.last == "placeholder" })
        for (index, view) in views.enumerated() { #expect(view.shown.last?.hasSuffix(" \(first + index)") == true) }
    }
}
