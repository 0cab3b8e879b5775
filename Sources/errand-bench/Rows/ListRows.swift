import Errand
import ErrandTesting
import Foundation

/// A list of many pages: the cost of its last pages compared to its first ones, its memory besides the items, and the
/// cost of showing no item twice.
struct Paging: Workload {
    /// A measurement in a separate process.
    enum Part: String, CaseIterable, Codable {
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

    func run(_ order: Order) async throws -> Measurement {
        let pages = order.requests
        switch order.part {
        case .items: return [.itemsMemory: try await growth { try await items(pages) }]
        case .list: return [.listMemory: try await growth { try await list(pages, EverythingRequest(proxy: proxy)) }]
        case .identified:
            return [.dedupMemory: try await growth { try await list(pages, IdentifiedRequest(proxy: proxy)) }]
        case .stack: return [.stackGrowth: try await StackWitness().growth(pages: max(1_000, 10 * pages))]
        case .time, nil: return try await times(pages)
        }
    }

    /// Returns the growth of the resident memory while the result of `work` is retained, in bytes.
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
        _ = try await seconds(Self.warmUp, EverythingRequest(proxy: proxy))
        var (plain, identified) = ([[Double]](), [[Double]]())
        for _ in 0..<Self.rounds(of: pages) {
            plain.append(try await seconds(pages, EverythingRequest(proxy: proxy)))
            identified.append(try await seconds(pages, IdentifiedRequest(proxy: proxy)))
        }
        let times = Self.best(plain)
        return [
            .pages: Double(pages), .firstTenth: times.prefix(pages / 10).mean,
            .lastTenth: times.suffix(pages / 10).mean,
            .dedupCost: Self.best(identified)[...].mean / times[...].mean - 1,
        ]
    }

    /// Returns the minimum time of each page over all rounds, which excludes most other work of the machine.
    private static func best(_ rounds: [[Double]]) -> [Double] {
        (rounds.first ?? []).indices.map { page in rounds.map { $0[page] }.min() ?? .nan }
    }

    /// Returns the time of each page.
    private func seconds(_ pages: Int, _ list: EverythingRequest) async throws -> [Double] {
        var iterator = list.pages().makeAsyncIterator()
        var times: [Double] = []
        for _ in 1...pages {
            let start = ContinuousClock.now
            _ = try await iterator.next()
            times.append(start.duration(to: .now) / .seconds(1))
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

/// A delegate that loads the next page inside the ending of the previous one, and measures the depth of the stack.
@MainActor final class StackWitness: APIManagerCallbackDelegate {
    private var continuation: CheckedContinuation<Void, any Error>?
    // The main actor's jobs may run on different threads, each with a separate stack.
    private var stacks: [pthread_t: (first: Int, deepest: Int)] = [:]

    /// The maximum stack that a page needs in addition to the first page on the same thread, in bytes.
    func growth(pages: Int) async throws -> Double {
        let list = NumbersRequest(delegate: self, proxy: PageScript.numbers(pages: pages))
        try await withCheckedThrowingContinuation { continuation in
            self.continuation = continuation
            list.reload()
        }
        guard list.pageCount == pages else { throw BenchFailure("pages are missing") }
        return Double(stacks.values.map { $0.first - $0.deepest }.max() ?? 0)
    }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        var here = 0
        withUnsafeMutablePointer(to: &here) { note(Int(bitPattern: $0)) }
        guard (request as? NumbersRequest)?.loadNextPage() == nil else { return }
        continuation?.resume()
    }

    private func note(_ depth: Int) {
        let known = stacks[pthread_self()] ?? (depth, depth)
        stacks[pthread_self()] = (known.first, min(known.deepest, depth))
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) {
        continuation?.resume(throwing: error)
    }
}

private final class NumbersRequest: PageAPIRequest<PageModel<Int>>, APIManager {
    let path = "/numbers"
    let method = HTTPMethod.get
    // The script responds to every page number.
    override var strategy: any PageStrategy { .pageNumber(totalIsExact: true) }
}

/// Lists without a network: the transport responds at once.
enum PageScript {
    /// Creates a proxy that serves the long list from pages in memory.
    static func goods() -> APIProxy {
        let pages = (0...Goods.pages).map { Data(Goods.page($0)) }
        return proxy { number in pages.indices.contains(number) ? pages[number] : pages[0] }
    }

    /// Creates a proxy that serves pages of one number each.
    static func numbers(pages: Int) -> APIProxy {
        proxy { Data(#"{"errcode":200,"data":{"list":[\#($0)],"totalPage":\#(pages)}}"#.utf8) }
    }

    private static func proxy(_ page: @escaping @Sendable (Int) -> Data) -> APIProxy {
        guard let url = URL(string: "http://script.invalid") else { preconditionFailure("no URL") }
        let transport = ScriptedTransport(keepsRequests: false) { request in
            let items = URLComponents(url: request.url, resolvingAgainstBaseURL: false)?.queryItems ?? []
            let number = items.first { $0.name == "page" }?.value.flatMap { Int($0) } ?? 0
            return HTTPResponse(status: 200, headers: ["Content-Type": "application/json"], body: page(number))
        }
        return APIProxy(service: APIService(baseURL: url), transport: transport)
    }
}
