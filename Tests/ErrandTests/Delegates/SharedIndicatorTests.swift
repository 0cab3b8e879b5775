import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("Loads that share an indicator are counted", .hangLimit, .timeLimit(.minutes(5)))
struct SharedIndicatorTests {
    /// What is visible: the message, with `nil` as an empty one, or nothing.
    private final class Line: LoadingIndicator {
        private(set) var texts: [String?] = []
        /// Called once.
        var onHide: (() -> Void)?
        var text: String? { texts.last ?? nil }

        func showLoading(_ message: String?) {
            #expect(text == nil, "shown twice")
            texts.append(message ?? "")
        }

        func hideLoading() {
            #expect(text != nil, "hidden twice")
            texts.append(nil)
            exchange(&onHide, with: nil)?()
        }
    }

    @Test func `The first load shows the indicator and the last one hides it`() async {
        let (line, other, gate) = (Line(), Line(), Latch())
        let transport = ScriptedTransport(fallback: { _ in
            try await gate.wait()
            return .json(goodsJSON([]))
        })
        let proxy = APIProxy(fake: transport)
        let requests = (0..<3).map { _ in GoodsRequest(proxy: proxy) }
        requests[0].loadData(indicator: line)
        requests[1].loadData(indicator: line)
        requests[2].loadData(indicator: other, message: "other")
        #expect(line.texts == [""] && other.texts == ["other"])
        requests[0].cancelAllRequests()
        await requests[0].waitUntilIdle()
        #expect(line.texts == [""])
        gate.open()
        for request in requests { await request.waitUntilIdle() }
        #expect(line.texts == ["", nil] && other.texts == ["other", nil])
    }

    @Test func `A load that replaces another keeps the indicator, and shows its own message`() async {
        let line = Line()
        let screen = Screen()
        let transport = ScriptedTransport(fallback: { _ in .json(goodsJSON([])) })
        let request = GoodsRequest(delegate: screen, proxy: APIProxy(fake: transport))
        request.loadData(indicator: line, message: "first")
        request.loadData(indicator: line, message: "second")
        request.loadData(indicator: line)
        #expect(await screen.endings(3) == [.cancelled, .cancelled, .success])
        #expect(line.texts == ["first", nil, "second", nil])
    }

    @Test func `A reload that supersedes another keeps the indicator until it has ended`() async {
        let (line, server) = (Line(), NumberServer(count: 3))
        let screen = Screen()
        let list = OffsetNumbers(delegate: screen, proxy: APIProxy(fake: server.transport))
        list.reload(indicator: line)
        list.reload(indicator: line)
        #expect(await screen.endings(2) == [.cancelled, .success])
        #expect(line.texts == ["", nil])
    }

    @Test func `What is begun when the message changes shows its own, and is hidden once`() async {
        let (line, gate) = (Line(), Latch())
        let transport = ScriptedTransport(fallback: { _ in
            try await gate.wait()
            return .json(goodsJSON([]))
        })
        let proxy = APIProxy(fake: transport)
        let requests = (0..<3).map { _ in GoodsRequest(proxy: proxy) }
        line.onHide = { requests[2].loadData(indicator: line, message: "c") }
        requests[0].loadData(indicator: line, message: "a")
        requests[1].loadData(indicator: line, message: "b")
        #expect(line.texts == ["a", nil, "c"])
        gate.open()
        for request in requests { await request.waitUntilIdle() }
        #expect(line.texts.prefix(3) == ["a", nil, "c"] && line.texts.count % 2 == 0 && line.text == nil)
    }

    @Test func `When the load with the newest message ends, the message is that of a load that runs`() async {
        let (line, gates) = (Line(), [Latch(), Latch(), Latch()])
        let numbers = Counter()
        let transport = ScriptedTransport(fallback: { _ in
            try await gates[numbers.next() - 1].wait()
            return .json(goodsJSON([]))
        })
        let requests = (0..<3).map { _ in GoodsRequest(proxy: APIProxy(fake: transport)) }
        for (number, message) in ["Loading", nil, "Paying"].enumerated() {
            requests[number].loadData(indicator: line, message: message)
            await suspend(while: transport.requests.count <= number)
        }
        requests[1].cancelAllRequests()
        await requests[1].waitUntilIdle()
        #expect(line.texts == ["Loading", nil, "Paying"], "it had no message")
        gates[2].open()
        await requests[2].waitUntilIdle()
        #expect(line.texts == ["Loading", nil, "Paying", nil, "Loading"])
        gates[0].open()
        await requests[0].waitUntilIdle()
        #expect(line.texts.suffix(2) == ["Loading", nil])
    }

    @Test func `A load that begins when the indicator hides shows it again`() async {
        final class Again: LoadingIndicator {
            var calls: [String] = []
            var next: (() -> Void)?

            func showLoading(_ message: String?) { calls.append("show") }

            func hideLoading() {
                calls.append("hide")
                exchange(&next, with: nil)?()
            }
        }
        let indicator = Again()
        let request = GoodsRequest(proxy: APIProxy(fake: ScriptedTransport(fallback: { _ in .json(goodsJSON([])) })))
        indicator.next = { request.loadData(indicator: indicator) }
        request.loadData(indicator: indicator)
        await suspend(while: indicator.calls.count < 4)
        #expect(indicator.calls == ["show", "hide", "show", "hide"])
        await request.waitUntilIdle()
    }
}
