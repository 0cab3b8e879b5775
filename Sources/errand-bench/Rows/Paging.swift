import Errand
import Foundation

/// A list of many pages: the cost of its last pages compared to its first ones, its memory besides the items, and the
/// cost of showing no item twice.
struct Paging: Workload {
    /// A measurement in a separate process.
    enum Part: String, CaseIterable {
        /// The memory of the items in a plain array.
        case items
        /// The memory of the list.
        case list
        /// The memory of the list that shows no item twice.
        case identified
        /// The time of both lists.
        case time
        /// The stack depth of a delegate that loads each next page inside the previous ending.
        case stack
    }

    private static let warmUp = 50
    /// How often each page is measured; `--quick`, which has few pages, only shows that the row works.
    private static func rounds(of pages: Int) -> Int { pages < 1_000 ? 2 : 5 }

    let proxy: APIProxy

    init(_ proxy: APIProxy) {
        self.proxy = proxy
    }

    func run(_ order: Order) async throws -> Measurement {
        let pages = order.requests
        switch order.part.flatMap(Part.init) {
        case .items: return ["items_mb": try await growth { try await items(pages) }]
        case .list: return ["rss_mb": try await growth { try await list(pages, EverythingRequest(proxy: proxy)) }]
        case .identified:
            return ["dedup_rss_mb": try await growth { try await list(pages, IdentifiedRequest(proxy: proxy)) }]
        case .stack: return ["stack_growth_bytes": try await StackWitness().growth(pages: 10 * pages)]
        case .time, nil: return try await times(pages)
        }
    }

    /// Returns the growth of the resident memory while the result of `work` is retained, in MB.
    private func growth<Value>(_ work: () async throws -> Value) async throws -> Double {
        _ = try await list(Self.warmUp, EverythingRequest(proxy: proxy))
        let before = Memory.now
        let kept = try await work()
        return withExtendedLifetime(kept) { Memory.now - before }
    }

    private func items(_ pages: Int) async throws -> [Goods] {
        var items: [Goods] = []
        for number in 1...pages { items += try await SinglePageRequest(number, proxy).value() }
        return items
    }

    private func list(_ pages: Int, _ list: EverythingRequest) async throws -> EverythingRequest {
        var iterator = list.pages().makeAsyncIterator()
        for _ in 1...pages { _ = try await iterator.next() }
        guard list.items.count == pages * Goods.pageSize else { throw BenchFailure("items are missing") }
        return list
    }

    private func times(_ pages: Int) async throws -> Measurement {
        _ = try await microseconds(Self.warmUp, EverythingRequest(proxy: proxy))
        var (plain, identified) = ([[Double]](), [[Double]]())
        for _ in 0..<Self.rounds(of: pages) {
            plain.append(try await microseconds(pages, EverythingRequest(proxy: proxy)))
            identified.append(try await microseconds(pages, IdentifiedRequest(proxy: proxy)))
        }
        let times = Self.best(plain)
        return [
            "pages": Double(pages), "first_tenth_us": times.prefix(pages / 10).mean,
            "last_tenth_us": times.suffix(pages / 10).mean,
            "dedup_cost": Self.best(identified)[...].mean / times[...].mean - 1,
        ]
    }

    /// Returns the minimum time of each page over all rounds, which excludes most other work of the machine.
    private static func best(_ rounds: [[Double]]) -> [Double] {
        (rounds.first ?? []).indices.map { page in rounds.map { $0[page] }.min() ?? .nan }
    }

    /// Returns the time of each page, in microseconds.
    private func microseconds(_ pages: Int, _ list: EverythingRequest) async throws -> [Double] {
        var iterator = list.pages().makeAsyncIterator()
        var times: [Double] = []
        for _ in 1...pages {
            let start = ContinuousClock.now
            _ = try await iterator.next()
            times.append(start.duration(to: .now) / .microseconds(1))
        }
        return times
    }
}

/// The list of all pages.
private class EverythingRequest: PageAPIRequest<[Goods]>, APIManager {
    let path = Goods.listPath
    let method = HTTPMethod.get
    override var strategy: any PageStrategy { .pageNumber(size: Goods.pageSize) }
}

/// The list that shows no item twice.
private final class IdentifiedRequest: EverythingRequest {
    override var itemID: ItemID<Goods>? { ItemID(\.id) }
}

/// One page, loaded without a list.
private final class SinglePageRequest: BaseAPIRequest, APIManager {
    typealias Response = [Goods]
    let path = Goods.listPath
    let method = HTTPMethod.get
    private let number: Int

    init(_ number: Int, _ proxy: APIProxy) {
        self.number = number
        super.init(proxy: proxy)
    }

    override func reformParams(_ params: APIParams?) -> APIParams? { ["page": number, "pageSize": Goods.pageSize] }
}

extension ArraySlice<Double> {
    fileprivate var mean: Double { reduce(0, +) / Double(count) }
}
