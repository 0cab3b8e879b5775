import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor
@Suite(
    "Loads that queue longer than a token is valid succeed in their order",
    .limitedConcurrency,
    .timeLimit(.minutes(10))
)
struct TokenLifetimeTests {
    private func succeeded(_ count: Int) -> [Screen.Event] { Array(repeating: .success, count: count) }

    private func anyPriorities(_ count: Int) -> [RequestPriority] {
        (0..<count).map { _ in RequestPriority.allCases.randomElement() ?? .normal }
    }

    /// How many requests a token is valid for.
    ///
    /// More than others can use while the thread of a request that was refused does not run.
    private func anyLifetime(_ width: Int) -> Int {
        width == 1 ? Int.random(in: 1...3) : Int.random(in: max(2 * width, 40)...max(4 * width, 80))
    }

    @Test(arguments: [1, 2, 5, 64])
    func `Tokens expire after a number of uses, and all loads succeed`(_ width: Int) async {
        for _ in 0..<rounds(4, slow: 12) {
            let lifetime = anyLifetime(width)
            let server = TokenServer { $0.number <= lifetime }
            #expect(await server.load(anyPriorities(300), width: width) == succeeded(300), "\(lifetime) uses")
            #expect(!server.hasRepeatedRefusal)
            #expect(server.account.logins == server.refusedTokens.count, "no login is wasted")
        }
    }

    @Test(arguments: [1, 2, 5, 64])
    func `Tokens expire after a time, and all loads succeed`(_ width: Int) async {
        for _ in 0..<rounds(4, slow: 12) {
            let lifetime = Duration.milliseconds(20 * anyLifetime(width))
            let server = TokenServer(timeOfRequest: .milliseconds(20)) { $0.age < lifetime }
            #expect(await server.load(anyPriorities(300), width: width) == succeeded(300), "\(lifetime)")
            #expect(!server.hasRepeatedRefusal)
            #expect(server.account.logins == server.refusedTokens.count)
        }
    }

    @Test(arguments: [2, 5, 64])
    func `A load fails when a login is refused with which none had succeeded when it was sent`(_ width: Int) async {
        let server = TokenServer { $0.path != 0 }
        let endings = await server.load(anyPriorities(100), width: width)
        #expect(endings.filter { $0 == .success }.count == 99)
        #expect(endings.contains(.failure(.loginExpired)))
        #expect(server.account.expiries == 0)
        #expect((1...LoginLimit.maxOfLoad).contains(server.account.logins))
        #expect(!server.hasRepeatedRefusal)
    }

    @Test(arguments: [1, 7])
    func `After a relogin loads are sent by priority, and then in the order in which they began`(
        _ lifetime: Int
    ) async {
        for _ in 0..<rounds(20) {
            let server = TokenServer { $0.token == "t0" ? false : lifetime == 1 || $0.number <= lifetime }
            // The first one is sent at once.
            let priorities = [.userInitiated] + anyPriorities(19)
            #expect(await server.load(priorities, width: 1) == succeeded(20))
            let order = priorities.indices.sorted {
                priorities[$0] == priorities[$1] ? $0 < $1 : priorities[$0] > priorities[$1]
            }
            #expect(server.accepted == order)
        }
    }
}

/// A server that decides by the uses and the age of a token whether it refuses a request, and the app that loads from it.
@MainActor final class TokenServer {
    /// One use of a token.
    struct Use: Sendable {
        let path: Int
        let token: String
        /// The number of uses of the token, this one included.
        let number: Int
        /// The time since the first use of the token.
        let age: Duration
    }

    private struct State {
        var uses: [String: Int] = [:]
        var firstUses: [String: Duration] = [:]
        var refusals: [(path: Int, token: String)] = []
        var accepted: [Int] = []
    }

    let clock = ManualClock()
    let account = Account()
    let screen = Screen()
    private let state = Lock(State())
    /// Opened when all loads have begun, so that they queue in their order.
    private let hasBegun = Latch()
    private let isValid: @Sendable (Use) -> Bool
    /// By how much each request advances the clock.
    private let timeOfRequest: Duration

    init(timeOfRequest: Duration = .zero, isValid: @escaping @Sendable (Use) -> Bool) {
        (self.timeOfRequest, self.isValid) = (timeOfRequest, isValid)
    }

    /// The numbers of the loads that were served with success, in order.
    var accepted: [Int] { state.withLock(\.accepted) }

    /// The tokens with which a request was refused.
    var refusedTokens: Set<String> { state.withLock { Set($0.refusals.map(\.token)) } }

    /// Whether a load was sent again with a token with which it was refused.
    var hasRepeatedRefusal: Bool {
        state.withLock { state in Set(state.refusals.map { "\($0.path) \($0.token)" }).count < state.refusals.count }
    }

    /// Begins a load for each priority, as many at a time as `width`, and returns their endings.
    func load(_ priorities: [RequestPriority], width: Int) async -> [Screen.Event] {
        // More logins than five in 30 s are a loop, and these are not.
        account.login = { [clock] in clock.advance(by: .seconds(10)) }
        let service = APIService.sample { [account] in
            $0.reloginHandler = account
            $0.commonHeaders = { ["X-Token": account.token] }
        }
        let transport = ScriptedTransport { [self] in await response(to: $0) }
        let limits = QueueLimits(perHost: width)
        let proxy = APIProxy(service: service, transport: transport, queueLimits: limits, clock: clock)
        let requests = priorities.enumerated().map { number, priority in
            let request = GoodsRequest(delegate: screen, proxy: proxy)
            (request.path, request.method, request.ownOptions.priority) = ("/\(number)", .get, priority)
            request.loadData()
            return request
        }
        hasBegun.open()
        return await screen.endings(of: requests)
    }

    nonisolated private func response(to request: HTTPRequest) async -> HTTPResponse {
        try? await hasBegun.wait()
        clock.advance(by: timeOfRequest)
        let (path, token) = (Int(request.url.lastPathComponent) ?? -1, request.headers["X-Token"] ?? "")
        let use = state.withLock { state in
            state.uses[token, default: 0] += 1
            let first = state.firstUses[token] ?? clock.uptime
            state.firstUses[token] = first
            return Use(path: path, token: token, number: state.uses[token] ?? 0, age: clock.uptime - first)
        }
        let isAccepted = isValid(use)
        state.withLock { state in
            if isAccepted { state.accepted.append(path) } else { state.refusals.append((path, token)) }
        }
        return isAccepted ? .json(goodsJSON([])) : .status(401)
    }
}
