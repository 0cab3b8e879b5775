import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandImages
@testable import ErrandTestSupport

@MainActor @Suite("A list that is scrolled", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(5)))
struct ImageSoakTests {
    /// A cell that is used for one row after another.
    @MainActor private final class Cell {
        var number = -1
        var receipt: ImageReceipt?
        var result: String?
        /// Results for a row that the cell had before.
        var strays = 0
    }

    @MainActor private final class Prefetch {
        var numbers: Set<Int> = []
        var receipt: ImageReceipt?
    }

    /// Records which images begin to be loaded.
    private final class LoadMonitor: APIMonitor {
        private let began = Lock<(@MainActor @Sendable (Int) -> Void)?>(nil)

        func setAction(_ action: @escaping @MainActor @Sendable (Int) -> Void) { began.withLock { $0 = action } }

        func observe(_ event: APIEvent) {
            guard case .began = event.kind, let action = began.withLock(\.self) else { return }
            let name = event.path.split(separator: "/").last ?? ""
            guard let number = Int(name.prefix { $0.isNumber }) else { return }
            MainActor.assumeIsolated { action(number) }
        }
    }

    @Test(
        arguments: [
            (1, ImageOrder.firstInFirstOut, false), (2, .lastInFirstOut, false), (3, .firstInFirstOut, true),
            (4, .lastInFirstOut, true),
        ] as [(UInt64, ImageOrder, Bool)]
    )
    func `Rows in cells that are used again show the image of their last request, with random cancels`(
        _ seed: UInt64,
        _ order: ImageOrder,
        _ hasCache: Bool
    ) async throws {
        var random = SplitMix(seed: seed)
        let monitor = LoadMonitor()
        let folder = try TemporaryFolder()
        let scene = ImageScene(
            places: 4,
            order: order,
            capacity: hasCache ? 1_000 : 10_000,
            keepsRequests: false,
            cache: hasCache ? APICache(folder: folder.url.appending(path: "cache")) : nil,
            monitors: [monitor]
        ) { request in
            let name = request.url.lastPathComponent
            let number = Int(name.prefix { $0.isNumber }) ?? 0
            for _ in 0..<number % 5 { await Task.yield() }
            let headers: HTTPHeaders = number % 2 == 0 ? ["Cache-Control": "max-age=60"] : [:]
            return number % 37 == 0 ? .status(404) : ImageNetwork.response(name, headers: headers)
        }
        let cells = (0..<24).map { _ in Cell() }
        let prefetched = Prefetch()
        var unwanted: [Int] = []
        monitor.setAction { number in
            let isWanted = cells.contains { $0.number == number && $0.result == nil && $0.receipt != nil }
            if !isWanted, !prefetched.numbers.contains(number) { unwanted.append(number) }
        }
        for row in 0..<rounds(3_400) {
            let cell = cells[row % cells.count]
            cell.receipt?.cancel()
            cell.number = Int.random(in: 1...120, using: &random)
            (cell.result, cell.receipt) = (nil, nil)
            let number = cell.number
            // A hit is not delivered in this call, and a load may begin in it.
            cell.receipt = ImageReceipt([], of: scene.loader)
            let priority =
                [RequestPriority.normal, .userInitiated, .background].randomElement(using: &random) ?? .normal
            cell.receipt = scene.loader.load(ImageScene.image(number), priority: priority) { result in
                if cell.number != number || cell.result != nil { cell.strays += 1 }
                cell.result = result.text
            }
            switch Int.random(in: 0..<12, using: &random) {
            case 0:
                let other = cells.randomElement(using: &random)
                other?.receipt?.cancel()
                other?.receipt = nil
            case 1: cells.randomElement(using: &random)?.receipt?.setPriority(.userInitiated)
            case 2:
                prefetched.receipt?.cancel()
                let numbers = (0..<10).map { _ in Int.random(in: 1...120, using: &random) }
                prefetched.numbers = Set(numbers)
                prefetched.receipt = scene.prefetch(numbers)
            case 3: for _ in 0..<Int.random(in: 0..<10, using: &random) { await Task.yield() }
            default: break
            }
        }
        prefetched.receipt?.cancel()
        await suspend(while: cells.contains { $0.result == nil && $0.receipt != nil })
        await scene.settle()
        for cell in cells where cell.receipt != nil {
            #expect(cell.result == (cell.number % 37 == 0 ? "http 404" : "image \(cell.number)"))
        }
        #expect(cells.allSatisfy { $0.strays == 0 })
        #expect(unwanted == [])
        #expect(scene.loader.memoryCache.bytes <= 10_000)
        #expect(scene.proxy.activeRequests.isEmpty)
        // Each place is free again.
        for number in 200..<220 { scene.load(number) }
        await scene.end(20)
    }
}
