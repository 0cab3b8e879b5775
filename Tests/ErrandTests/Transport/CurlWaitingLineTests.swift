#if os(Linux)
import Foundation
import Testing

@testable import Errand

@Suite("The line of exchanges that wait", .timeLimit(.minutes(10)))
struct CurlWaitingLineTests {
    /// An exchange to hold on to only weakly.
    private struct Watch {
        weak var exchange: CurlExchange?
    }

    private func exchange(_ number: Int) throws -> CurlExchange {
        let url = try #require(URL(string: "http://a.test/\(number)"))
        return try CurlExchange(HTTPRequest(.get, url), progress: nil)
    }

    @Test func `One that has ended does not stay in memory`() throws {
        var line = CurlWaitingLine()
        var watches: [Watch] = []
        for number in 0..<10 {
            let exchange = try exchange(number)
            line.append(exchange)
            watches.append(Watch(exchange: exchange))
        }
        for watch in watches.dropFirst(5) { if let exchange = watch.exchange { line.forget(exchange) } }
        #expect(watches.map { $0.exchange != nil } == (0..<10).map { $0 < 5 })
        #expect(!line.isEmpty)
    }

    @Test func `The rest keep their order, however many leave from either end`() throws {
        var generator = SplitMix(seed: 14)
        var line = CurlWaitingLine()
        var model: [CurlExchange] = []
        for number in 0..<5_000 {
            switch Int.random(in: 0..<4, using: &generator) {
            case 0, 1:
                model.append(try exchange(number))
                model.last.map { line.append($0) }
            case 2 where !model.isEmpty:
                line.forget(model.remove(at: Int.random(in: 0..<model.count, using: &generator)))
            default:
                #expect(line.popFirst() === (model.isEmpty ? nil : model.removeFirst()))
            }
            #expect(line.isEmpty == model.isEmpty)
        }
        var rest: [ObjectIdentifier] = []
        line.forEach { rest.append(ObjectIdentifier($0)) }
        #expect(rest == model.map(ObjectIdentifier.init))
    }
}
#endif
