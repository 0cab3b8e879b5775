import Foundation
import Testing

@testable import Errand

/// FAULT 92: jars and processes that use one file in random order, against a model in which the newest update counts.
@Suite("Random updates of a shared cookie file", .takesTurns, .timeLimit(.minutes(10)))
struct CookieModelTests {
    private static let seeds = CookieProbe.runsSlowTests ? 0..<200 : 0..<12
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test(.fault(92), arguments: seeds)
    func `Jars of one process end with the newest update of each cookie`(_ seed: Int) throws {
        try run(seed: UInt64(seed), steps: 300, jars: 4, processes: 0)
    }

    @Test(.fault(92), arguments: seeds.prefix(4))
    func `Jars of several processes end with the newest update of each cookie`(_ seed: Int) throws {
        try run(seed: UInt64(1_000 + seed), steps: 200, jars: 2, processes: 3)
    }

    private func run(seed: UInt64, steps: Int, jars: Int, processes: Int) throws {
        var random = SplitMix(seed: seed)
        // Whole seconds, in which the file counts the ends of cookies.
        var model = Model(start: Date(timeIntervalSince1970: Date.now.timeIntervalSince1970.rounded(.down)))
        var former: [any CookiePlayer] = []
        var players: [any CookiePlayer] = (0..<jars).map { _ in local() }
        players += try (0..<processes).map { _ in try RemotePlayer(of: folder.file) }
        for step in 0..<steps {
            let player = players.randomElement(using: &random) ?? local()
            switch random.next() % 10 {
            case 0...1: try player.flush()
            case 2:
                // The former jar saves by itself, some time later or at the end.
                let index = Int(random.next() % UInt64(jars))
                former.append(players[index])
                players[index] = local()
            default:
                let (line, url) = model.update(number: step, using: &random)
                try player.store(line, from: url, at: model.date)
            }
        }
        for player in former { try player.flush() }
        try check(players, against: &model)
    }

    /// Two rounds of saves: after the first the file has everything, after the second every jar.
    private func check(_ players: [any CookiePlayer], against model: inout Model) throws {
        model.date += 1
        for round in 0..<2 {
            for (number, player) in players.enumerated() {
                try player.store("touch\(number)=\(round)", from: Model.urls[0], at: model.date)
                try player.flush()
            }
        }
        let expected = model.pairs
        let jar = CookieJar(file: folder.file, at: model.date)
        #expect(Set(jar.cookies.map { "\($0.name)=\($0.value)" }.filter { !$0.hasPrefix("touch") }) == expected)
        for player in players {
            #expect(try player.pairs().filter { !$0.hasPrefix("touch") } == expected)
        }
    }

    private func local() -> any CookiePlayer {
        LocalPlayer(jar: CookieJar(file: folder.file) { if $0.kind != .locked { Issue.record("\($0)") } })
    }
}

/// What the file has to hold in the end.
private struct Model {
    static let urls = [
        URL("https://shop.example.org/"), URL("https://other.example/a/b"), URL("http://plain.example/"),
    ]
    private var cookies: [String: (value: String, end: Date?)] = [:]
    var date: Date

    init(start: Date) {
        date = start
    }

    /// The `name=value` of the cookies that are left.
    var pairs: Set<String> {
        Set(cookies.filter { $1.end.map { $0 > date } ?? true }.map { "\($0)=\($1.value)" })
    }

    /// Sets or removes one cookie a moment later, and returns the line that does so.
    mutating func update(number: Int, using random: inout SplitMix) -> (line: String, url: URL) {
        date += 1 + Double(random.next() % 3)
        let place = Int(random.next() % 3)
        let name = "c\(random.next() % 4)at\(place)"
        switch random.next() % 5 {
        case 0...1:
            cookies[name] = nil
            return ("\(name)=; Max-Age=0", Self.urls[place])
        case 2:
            let life = Int(1 + random.next() % 60)
            cookies[name] = ("\(number)", date + Double(life))
            return ("\(name)=\(number); Max-Age=\(life)", Self.urls[place])
        default:
            cookies[name] = ("\(number)", nil)
            return ("\(name)=\(number)", Self.urls[place])
        }
    }
}
