import ErrandTesting
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor
@Suite(
    "Loads that queue longer than a token is valid succeed in their order",
    .limitedConcurrency,
    .timeLimit(.minutes(10))
)
struct TokenLifetimeTests {
    private static let rounds = CookieProbe.runsSlowTests ? 12 : 4

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
        for _ in 0..<Self.rounds {
            let lifetime = anyLifetime(width)
            let server = TokenServer { $0.number <= lifetime }
            #expect(await server.load(anyPriorities(300), width: width) == succeeded(300), "\(lifetime) uses")
            #expect(!server.hasRepeatedRefusal)
            #expect(server.account.logins == server.refusedTokens.count, "no login is wasted")
        }
    }

    @Test(arguments: [1, 2, 5, 64])
    func `Tokens expire after a time, and all loads succeed`(_ width: Int) async {
        for _ in 0..<Self.rounds {
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
        for _ in 0..<20 {
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
