import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@Suite("Loads with identical requests share one exchange", .hangLimit, .timeLimit(.minutes(10)))
struct SharedExchangesTests {
    let gate = Latch()
    let service = APIService.sample()

    private func context(perHost: Int = 64) -> (APIProxy, ScriptedTransport) {
        let transport = ScriptedTransport { [gate] request in
            try await gate.wait()
            guard request.url.path != "/api/lost" else { throw TransportError(.connectionLost, "lost") }
            return HTTPResponse(status: 200, body: Data("response".utf8))
        }
        return (.sample(transport, perHost: perHost), transport)
    }

    /// Begins a load, which is in the table of `context` until it has a response.
    private func load(
        _ call: Call<String>,
        in generation: Int = 0,
        _ context: APIProxy
    ) -> Task<Result<APIResponse, APIError>, Never> {
        context.loads.insert(.sample(call.id))
        return Task {
            defer { _ = context.loads.claim(call.id) }
            do throws(APIError) {
                let request = try call.draft.request(for: call.service)
                let exchanges = context.sharedExchanges
                let response = try await exchanges.response(to: request, of: call, in: generation, context)
                return response.map(Result.success) ?? .failure(APIError(.cancelled))
            } catch {
                return .failure(error)
            }
        }
    }

    @Test func `Loads that join have the response of the first one, and none joins afterwards`() async throws {
        let (context, transport) = context()
        let cookies = CookieJar()
        let calls = (0..<5).map { _ in Call<String>.shared(service, cookies) }
        let loads = calls.map { load($0, context) }
        await suspend(while: context.sharedExchanges.memberCount < 5)
        #expect(context.sharedExchanges.count == 1)
        gate.open()
        for load in loads { #expect(try await load.value.get().body == Data("response".utf8)) }
        #expect(transport.requests.count == 1)
        #expect(context.sharedExchanges.count == 0)
        _ = try await load(.shared(service, cookies), context).value.get()
        #expect(transport.requests.count == 2, "an exchange that has ended is not joined")
    }

    @Test func `Another path, login generation or cookie jar is another exchange`() async throws {
        let (context, transport) = context()
        let cookies = CookieJar()
        let loads = [
            load(.shared(service, cookies), context), load(.shared(service, cookies, path: "/other"), context),
            load(.shared(service, cookies), in: 1, context), load(.shared(service, CookieJar()), context),
        ]
        await suspend(while: context.sharedExchanges.memberCount < 4)
        #expect(context.sharedExchanges.count == 4)
        gate.open()
        for load in loads { _ = try await load.value.get() }
        #expect(transport.requests.count == 4)
    }

    @Test func `A failure ends all loads of the exchange, and releases its place in the queue`() async {
        let (context, _) = context(perHost: 1)
        let cookies = CookieJar()
        gate.open()
        for _ in 0..<3 {
            let loads = (0..<3).map { _ in load(.shared(service, cookies, path: "/lost"), context) }
            for load in loads { #expect(await load.value.error?.type == .transport) }
        }
        #expect(context.sharedExchanges.count == 0)
        #expect(context.queue.admitAtOnce(.next(service.queueLane(.normal))))
    }

    @Test func `A cancelled load leaves the exchange, which is cancelled with its last load`() async throws {
        let (context, transport) = context(perHost: 1)
        let cookies = CookieJar()
        let calls = (0..<3).map { _ in Call<String>.shared(service, cookies) }
        let loads = calls.map { load($0, context) }
        await suspend(while: context.sharedExchanges.memberCount < 3)
        await transport.waitForRequests(1)
        loads[0].cancel()
        #expect(await loads[0].value.error?.type == .cancelled)
        #expect(context.sharedExchanges.memberCount == 2)
        for load in loads[1...] { load.cancel() }
        for load in loads[1...] { #expect(await load.value.error?.type == .cancelled) }
        #expect(context.sharedExchanges.count == 0)
        // The gate is closed: the place is free because the exchange has ended.
        await suspend(while: !context.queue.admitAtOnce(.next(service.queueLane(.normal))))
    }

    @Test func `An exchange all of whose loads end while it queues is not sent`() async throws {
        let (context, transport) = context(perHost: 1)
        let place = QueuePlace.next(service.queueLane(.normal))
        #expect(context.queue.admitAtOnce(place))
        let cookies = CookieJar()
        let calls = (0..<2).map { _ in Call<String>.shared(service, cookies) }
        let loads = calls.map { load($0, context) }
        await suspend(while: context.queue.waitingCount < 1 || context.sharedExchanges.memberCount < 2)
        for call in calls { _ = context.loads.claim(call.id) }
        context.queue.leave(place)
        for load in loads { #expect(await load.value.error?.type == .cancelled) }
        #expect(transport.requests.isEmpty)
        await suspend(while: !context.queue.admitAtOnce(.next(service.queueLane(.normal))))
    }

    @Test func `An exchange whose login is replaced while it queues is not sent`() async {
        let (context, transport) = context(perHost: 1)
        let service = APIService.sample { $0.reloginHandler = DeinitObserver {} }
        let place = QueuePlace.next(service.queueLane(.normal))
        #expect(context.queue.admitAtOnce(place))
        gate.open()
        let cookies = CookieJar()
        let loads = (0..<2).map { _ in load(.shared(service, cookies), context) }
        await suspend(while: context.queue.waitingCount < 1 || context.sharedExchanges.memberCount < 2)
        service.login.didSignIn()
        context.queue.leave(place)
        for load in loads { #expect(await load.value.error?.type == .cancelled) }
        #expect(transport.requests.isEmpty)
        #expect(context.sharedExchanges.count == 0)
        await suspend(while: !context.queue.admitAtOnce(.next(service.queueLane(.normal))))
    }

    @Test func `Loads that join, leave and end at random have one response each`() async {
        let (context, _) = context(perHost: 2)
        gate.open()
        let cookies = CookieJar()
        let endings = await withTaskGroup(of: APIErrorType?.self) { group in
            for number in 0..<2_000 {
                let load = load(.shared(service, cookies, path: "/\(number % 3)"), context)
                if number.isMultiple(of: 4) { load.cancel() }
                group.addTask { await load.value.error?.type }
                if number.isMultiple(of: 7) { await Task.yield() }
            }
            return await group.reduce(into: [APIErrorType?: Int]()) { $0[$1, default: 0] += 1 }
        }
        #expect(endings.values.reduce(0, +) == 2_000)
        #expect(Set(endings.keys).isSubset(of: [nil, .cancelled]))
        #expect(endings[nil, default: 0] >= 1_500)
        await suspend(while: context.sharedExchanges.count > 0)
        for _ in 0..<2 { await suspend(while: !context.queue.admitAtOnce(.next(service.queueLane(.normal)))) }
    }
}

extension Call<String> {
    /// A call with the jar of others.
    fileprivate static func shared(_ service: APIService, _ cookies: CookieJar, path: String = "/goods") -> Call {
        .sample(path: path, service: service, cookies: cookies)
    }
}

extension Result {
    fileprivate var error: Failure? {
        guard case .failure(let error) = self else { return nil }
        return error
    }
}
