import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("A proxy reports the endings of its loads to any reader", .hangLimit, .timeLimit(.minutes(10)))
struct EndingsTests {
    let screen = Screen()
    private let transport = ScriptedTransport { request in
        request.url.path.hasSuffix("/fail")
            ? .json(#"{"errcode":5001,"msg":"no","data":"s3cret"}"#) : .json(goodsJSON([]))
    }

    private func request(_ path: String, _ proxy: APIProxy) -> GoodsRequest {
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.path = path
        return request
    }

    private nonisolated func read(_ count: Int, of endings: some AsyncSequence<EndedRequest, Never>) async
        -> [EndedRequest]
    {
        var read: [EndedRequest] = []
        for await load in endings {
            read.append(load)
            if read.count == count { break }
        }
        return read
    }

    @Test func `Every reader receives each ending once, in order`() async throws {
        let proxy = APIProxy(fake: transport)
        let readers = (0..<3).map { _ in proxy.endings }
        let (good, bad, gone) = (request("/goods", proxy), request("/fail", proxy), request("/goods/{id}", proxy))
        good.loadData()
        #expect(await screen.ending() == .success)
        bad.loadData()
        #expect(await screen.ending() == .failure(.server))
        let cancelled = gone.loadData(params: ["id": 7])
        gone.cancelAllRequests()
        #expect(await screen.ending() == .cancelled)
        _ = try await proxy.send(HTTPRequest(.get, URL("http://shop.test/plain?token=secret")))
        for reader in readers {
            let loads = await read(4, of: reader)
            #expect(loads.map(\.path) == ["/goods", "/fail", "/goods/{id}", "http://shop.test/plain"])
            #expect(loads.map(\.method) == [.post, .post, .post, .get])
            #expect(loads.map { $0.requestClass == GoodsRequest.self } == [true, true, true, false])
            #expect(loads[3].requestClass == nil)
            #expect(loads[2].id == cancelled && Set(loads.map(\.id)).count == 4)
            #expect(loads.map(\.name) == ["success", "server", "cancelled", "success"])
            #expect(loads.allSatisfy { $0.droppedCount == 0 })
        }
    }

    @Test func `A failure is reported without the body of its response`() async throws {
        let proxy = APIProxy(fake: transport)
        let endings = proxy.endings
        let bad = request("/fail", proxy)
        bad.loadData()
        #expect(await screen.ending() == .failure(.server))
        #expect(bad.error?.response?.body.isEmpty == false)
        guard case .failure(let error) = await read(1, of: endings).first?.ending else {
            Issue.record("no failure")
            return
        }
        #expect(error.code == 5001 && error.message == "no" && error.status == 200 && error.path == "/fail")
        #expect(error.response?.body.isEmpty == true && error.response?.serverCode == 5001)
    }

    @Test func `A reader reads from its creation on, and a second one of the same sequence from then on`() async throws
    {
        let proxy = APIProxy(fake: transport)
        let good = request("/goods", proxy)
        good.loadData()
        #expect(await screen.ending() == .success)
        let endings = proxy.endings
        let second = good.loadData()
        #expect(await screen.ending() == .success)
        var first = endings.makeAsyncIterator()
        var late = endings.makeAsyncIterator()
        let third = good.loadData()
        #expect(await screen.ending() == .success)
        #expect(try await [first.next()?.id, first.next()?.id] == [second, third])
        #expect(try await late.next()?.id == third)
    }

    @Test func `An ending is reported before the delegate is notified, and for a released request as well`() async {
        let proxy = APIProxy(fake: transport)
        let endings = proxy.endings
        // What the delegate reports follows what was reported before it was notified.
        screen.onEvent = { _, _ in proxy.endingPublisher.publish { Self.ended(.next()) } }
        let notified = request("/goods/1", proxy)
        let id = notified.loadData()
        #expect(await screen.ending() == .success)
        do {
            let kept = request("/goods", proxy)
            kept.ownOptions.releasePolicy = .finish
            kept.loadData()
            let dropped = request("/goods/2", proxy)
            dropped.delegate = nil
            dropped.loadData()
        }
        let loads = await read(4, of: endings)
        #expect(loads[0].id == id && loads[1].requestClass == nil)
        #expect(Set(loads[2...].map(\.name)) == ["success", "cancelled"])
        #expect(screen.events == [.success])
    }

    @Test func `The oldest endings are dropped for a slow reader, which receives their number`() async {
        let publisher = EndingPublisher()
        let endings = EndedRequests(of: publisher)
        let (total, capacity) = (3 * EndedRequests.capacity + 7, EndedRequests.capacity)
        let ids = (0..<total).map { _ in RequestID.next() }
        for id in ids { publisher.publish { Self.ended(id) } }
        var iterator = endings.makeAsyncIterator()
        let first = await iterator.next()
        #expect(first?.droppedCount == total - capacity && first?.id == ids[total - capacity])
        publisher.publish { Self.ended(.next()) }
        for id in ids.suffix(capacity - 1) {
            let next = await iterator.next()
            #expect(next?.id == id && next?.droppedCount == 0)
        }
        #expect(await iterator.next()?.droppedCount == 0)
    }

    @Test(arguments: [false, true]) func `A reader ends when its task is cancelled`(_ isEarly: Bool) async {
        let proxy = APIProxy(fake: transport)
        let (endings, begun) = (proxy.endings, Latch())
        let reader = Task {
            if isEarly { await begun.waitIgnoringCancellation() }
            var count = 0
            for await _ in endings { count += 1 }
            return count
        }
        if !isEarly { for _ in 0..<20 { await Task.yield() } }
        reader.cancel()
        begun.open()
        #expect(await reader.value == 0)
    }

    @Test func `A reader ends when the proxy is released, after the endings before`() async throws {
        var proxy: APIProxy? = APIProxy(fake: transport)
        let endings = try #require(proxy?.endings)
        let waiting = Task { [iterated = try #require(proxy?.endings)] in await count(iterated) }
        _ = try await proxy?.send(HTTPRequest(.get, URL("http://shop.test/plain")))
        for _ in 0..<20 { await Task.yield() }
        proxy = nil
        #expect(await waiting.value == 1)
        #expect(await count(endings) == 1)
    }

    private nonisolated func count(_ endings: some AsyncSequence<EndedRequest, Never>) async -> Int {
        var count = 0
        for await _ in endings { count += 1 }
        return count
    }

    @Test func `Readers of endings on many threads receive all of them, in one order`() async {
        let proxy = APIProxy(fake: transport)
        let readers = (0..<4).map { _ in
            Task { [endings = proxy.endings] in await read(400, of: endings).map(\.id) }
        }
        let canceller = Task.detached {
            while !Task.isCancelled {
                proxy.cancelAllRequests()
                await Task.yield()
            }
        }
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<400 {
                let request = HTTPRequest(.get, URL("http://shop.test/\(number)"))
                group.addTask { _ = try? await proxy.send(request) }
            }
        }
        canceller.cancel()
        var orders: [[RequestID]] = []
        for reader in readers { orders.append(await reader.value) }
        #expect(Set(orders[0]).count == 400)
        #expect(orders.allSatisfy { $0 == orders[0] })
    }

    @Test func `Nothing is made without a reader, and nothing of an app is released under the lock`() {
        struct Holder: Error { let object: DeinitObserver }
        let publisher = EndingPublisher()
        publisher.publish {
            Issue.record("made")
            return Self.ended(.next())
        }
        let released = Counter()
        var reader: EndedRequests? = EndedRequests(of: publisher)
        for _ in 0...EndedRequests.capacity {
            let object = DeinitObserver {
                _ = released.next()
                // Would wait for ever for a lock that is held.
                _ = EndedRequests(of: publisher)
            }
            publisher.publish { Self.ended(.next(), APIError(.transport, underlying: Holder(object: object))) }
        }
        #expect(released.count == 1, "dropped")
        withExtendedLifetime(reader) {}
        reader = nil
        #expect(released.count == EndedRequests.capacity + 1, "released with the reader")
        publisher.publish {
            Issue.record("made")
            return Self.ended(.next())
        }
    }

    @Test func `The release of a reader affects no other`() async {
        let publisher = EndingPublisher()
        var kept = EndedRequests(of: publisher).makeAsyncIterator()
        var released: EndedRequests? = EndedRequests(of: publisher)
        // One that waits, and one that has a sequence alone.
        let waiting = Task { [iterated = EndedRequests(of: publisher)] in await read(2, of: iterated).map(\.id) }
        let cancelled = Task { [iterated = EndedRequests(of: publisher)] in await read(2, of: iterated).map(\.id) }
        let ids = [RequestID.next(), .next()]
        for (number, id) in ids.enumerated() {
            let made = Counter()
            publisher.publish {
                _ = made.next()
                return Self.ended(id)
            }
            #expect(made.count == 1, "there are readers")
            guard number == 0 else { break }
            withExtendedLifetime(released) {}
            released = nil
            cancelled.cancel()
            _ = await cancelled.value
        }
        // A reader that has missed an ending does not wait for it.
        publisher.finish()
        #expect(await [kept.next()?.id, kept.next()?.id] == ids)
        #expect(await waiting.value == ids)
    }

    private nonisolated static func ended(_ id: RequestID, _ error: APIError? = nil) -> EndedRequest {
        let ending = error.map(APIEnding.failure) ?? .success
        return EndedRequest(id, of: nil, .get, path: "/", error?.response, ending)
    }
}

extension EndedRequest {
    fileprivate var name: String {
        switch ending {
        case .success: "success"
        case .failure(let error): error.type.rawValue
        case .cancelled: "cancelled"
        }
    }
}
