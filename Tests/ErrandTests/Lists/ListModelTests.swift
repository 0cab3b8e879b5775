import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("A list always agrees with its model", .limitedConcurrency, .timeLimit(.minutes(10)))
struct ListModelTests {
    /// The server's list of numbers, which responds on the main actor.
    @MainActor final class Server {
        var numbers: [Int] = []
        var failure: Int?
        private var lastNumber = 0
        private var requests = 0

        /// Inserts new numbers.
        func insert(_ count: Int, at place: Int) {
            if numbers.isEmpty { lastNumber = 0 }
            numbers.insert(contentsOf: lastNumber + 1..<lastNumber + 1 + count, at: place)
            lastNumber += count
        }

        /// Fails the request with this number, counted from now.
        func expect(failure: Int?) {
            self.failure = failure
            requests = 0
        }

        func response(_ request: HTTPRequest) -> HTTPResponse {
            // The response to a cancelled load is not used.
            guard !Task.isCancelled else { return HTTPResponse(status: 500) }
            defer { requests += 1 }
            guard requests != failure else { return HTTPResponse(status: 503) }
            let query = request.url.query ?? ""
            let value = query.prefix { $0 != "&" }.split(separator: "=").last.flatMap { Int($0) }
            let start = query.hasPrefix("page") ? ((value ?? 1) - 1) * 3 : offset(query) ?? 0
            let page = Array(numbers.dropFirst(start).prefix(3))
            let headers: HTTPHeaders = start + 3 < numbers.count ? ["Next": "\(start + 3)"] : [:]
            return HTTPResponse(status: 200, headers: headers, body: Data("\(page)".utf8))
        }

        private func offset(_ query: String) -> Int? {
            let pair = query.split(separator: "&").first { $0.hasPrefix("offset") || $0.hasPrefix("cursor") }
            return pair?.split(separator: "=").last.flatMap { Int($0) }
        }
    }

    final class Numbers: PageAPIRequest<[Int]>, APIManager {
        let path = "/numbers"
        let method = HTTPMethod.get
        let rules: ModelRules

        init(_ rules: ModelRules, _ proxy: APIProxy) {
            self.rules = rules
            super.init(proxy: proxy)
            maxPages = rules.maxPages
        }

        override var strategy: any PageStrategy { rules.strategy }
        override var itemID: ItemID<Int>? { rules.hasIDs ? ItemID(\.self) : nil }
    }

    /// A run of random actions on a list and its model.
    @MainActor final class Run {
        private enum Action: CaseIterable {
            case reload, refreshAll, next, previous, retry, cancel, insert, delete, settle, fail
        }

        private let seed: UInt64
        private let server: Server
        private let list: Numbers
        private var random: SplitMix
        private var model: ListModel
        private var trace: [Action] = []

        init(_ seed: UInt64, _ server: Server, _ proxy: APIProxy) {
            self.seed = seed
            self.server = server
            random = SplitMix(seed: seed)
            let rules = ModelRules(using: &random)
            model = ListModel(rules: rules)
            list = Numbers(rules, proxy)
            server.numbers = []
            server.insert(Int.random(in: 0...14, using: &random), at: 0)
        }

        /// Performs random actions; returns false when the list differs from the model.
        func holds() async -> Bool {
            for _ in 0..<Int.random(in: 2...10, using: &random) {
                let action = Action.allCases.randomElement(using: &random) ?? .next
                trace.append(action)
                guard await take(action), ![.settle, .fail].contains(action) || isEqual else { return report() }
            }
            await settle(failure: nil)
            return isEqual || report()
        }

        /// Performs an action on the list and the model; returns false when their results differ.
        private func take(_ action: Action) async -> Bool {
            switch action {
            case .reload: return expect(.refresh, from: list.reload())
            case .refreshAll: return expect(.refreshAll, from: list.refreshAll())
            case .next: return expect(model.partToLoad(for: .append), from: list.loadNextPage())
            case .previous: return expect(model.partToLoad(for: .prepend), from: list.loadPreviousPage())
            case .retry: return expect(model.retry, from: list.retry())
            case .cancel:
                list.cancelAllRequests()
                model.loading = nil
            case .insert: server.insert(Int.random(in: 1...4, using: &random), at: place)
            case .delete: if !server.numbers.isEmpty { server.numbers.remove(at: place % server.numbers.count) }
            case .settle: await settle(failure: nil)
            case .fail: await settle(failure: Int.random(in: 0...2, using: &random))
            }
            return true
        }

        private var place: Int { Int.random(in: 0...server.numbers.count, using: &random) }

        /// Returns whether the list has begun the expected load; otherwise it returns the ID of the load that runs.
        private func expect(_ part: ListModel.Part?, from id: RequestID?) -> Bool {
            guard let part else { return id == nil || model.loading != nil && id == list.loads.last }
            model.begin(part)
            return id != nil && id == list.loads.last && list.loads.count == 1
        }

        private func settle(failure: Int?) async {
            server.expect(failure: failure)
            model.settle(server.numbers, failure: failure)
            while let id = list.loads.last { _ = await list.ending(of: id) }
            // A cancelled load still ends.
            await suspend(while: [list.refreshState, list.appendState, list.prependState].contains(where: \.isLoading))
            server.expect(failure: nil)
        }

        private var isEqual: Bool {
            let refreshFailed = model.failed.contains(.refresh) || model.failed.contains(.refreshAll)
            return list.items == model.content.items && list.pageCount == model.content.pages.count
                && list.hasMore == (model.content.next != nil) && list.hasPrevious == (model.content.previous != nil)
                && (list.refreshState.error != nil) == refreshFailed && list.refreshState.isIdle == !refreshFailed
                && isRight(list.appendState, model.failed.contains(.append), hasMore: list.hasMore)
                && isRight(list.prependState, model.failed.contains(.prepend), hasMore: list.hasPrevious)
        }

        private func isRight(_ state: PageLoadState, _ hasFailed: Bool, hasMore: Bool) -> Bool {
            if hasFailed { return state.error != nil }
            return hasMore || list.pageCount == 0 ? state.isIdle : state.isEnd
        }

        private func report() -> Bool {
            Issue.record(
                """
                seed \(seed): \(trace.map { "\($0)" }.joined(separator: ", "))
                list:  \(list.items), \(list.pageCount) pages, \(list.refreshState), \(list.appendState), \
                \(list.prependState), more \(list.hasMore), previous \(list.hasPrevious)
                model: \(model)
                server: \(server.numbers)
                """
            )
            return false
        }
    }

    @Test(.fault(47), .fault(48), .fault(49), .fault(51))
    func `in 2,000 random runs, and in 10,000 with slow tests`() async {
        let server = Server()
        let transport = ScriptedTransport(keepsRequests: false) { request in await server.response(request) }
        var service = APIService.sample()
        service.envelope = nil
        let proxy = APIProxy(service: service, transport: transport)
        for seed in UInt64(1)...(CookieProbe.runsSlowTests ? 10_000 : 2_000) {
            guard await Run(seed, server, proxy).holds() else { return }
        }
    }
}
