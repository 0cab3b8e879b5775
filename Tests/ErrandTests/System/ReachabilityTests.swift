import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Reachability", .timeLimit(.minutes(10)))
struct ReachabilityTests {
    private let reachability = Reachability(status: .unknown)

    @Test func `The status is the last reported one`() {
        #expect(reachability.status == .unknown)
        reachability.report(.unreachable)
        #expect(reachability.status == .unreachable)
        reachability.report(.reachable(.wired))
        #expect(reachability.status == .reachable(.wired))
    }

    @Test func `Updates begin with the current status, and then report each change once`() async {
        reachability.report(.unreachable)
        var updates = reachability.updates.makeAsyncIterator()
        #expect(await updates.next() == .unreachable)
        reachability.report(.unreachable)
        reachability.report(.reachable(.wired))
        #expect(await updates.next() == .reachable(.wired))
        reachability.report(.unknown)
        #expect(await updates.next() == .unknown)
    }

    @Test func `A slow reader receives only the latest status`() async {
        var updates = reachability.updates.makeAsyncIterator()
        for status in [ReachabilityStatus.reachable(.wired), .unknown, .unreachable] { reachability.report(status) }
        #expect(await updates.next() == .unreachable)
        reachability.report(.reachable(.wired))
        #expect(await updates.next() == .reachable(.wired))
    }

    @Test func `Each of several readers receives every change, also after another one has ended`() async {
        var first = reachability.updates.makeAsyncIterator()
        do {
            var second = reachability.updates.makeAsyncIterator()
            reachability.report(.reachable(.wired))
            #expect(await second.next() == .reachable(.wired))
            #expect(await first.next() == .reachable(.wired))
            #expect(reachability.observerCount == 2)
        }
        #expect(reachability.observerCount == 1)
        reachability.report(.unreachable)
        #expect(await first.next() == .unreachable)
    }

    @Test func `A cancelled reader ends and is removed`() async {
        let began = AsyncStream<Void>.makeStream()
        let reader = Task { [reachability] in
            for await _ in reachability.updates { began.continuation.yield() }
        }
        for await _ in began.stream { break }
        reader.cancel()
        await reader.value
        #expect(reachability.observerCount == 0)
    }

    @Test func `Updates end when the object is released, which they do not retain`() async {
        var owner: Reachability? = Reachability(status: .reachable(.wired))
        weak let object = owner
        var updates = owner?.updates.makeAsyncIterator()
        #expect(await updates?.next() == .reachable(.wired))
        owner = nil
        #expect(object == nil)
        #expect(await updates?.next() == nil)
    }

    @Test func `After reports from many threads, readers and the status are equal`() async {
        for _ in 0..<200 {
            var updates = reachability.updates.makeAsyncIterator()
            await withTaskGroup { group in
                for status in [ReachabilityStatus.reachable(.wired), .unreachable, .unknown, .reachable(.wired)] {
                    group.addTask { reachability.report(status) }
                }
            }
            #expect(await updates.next() == reachability.status)
        }
        #expect(reachability.observerCount == 0)
    }
}

@Suite("Waiting while the network is unreachable", .timeLimit(.minutes(10)))
struct ReachabilityWaitTests {
    private let reachability = Reachability(status: .unreachable)

    @Test(arguments: [ReachabilityStatus.unknown, .reachable(.wired)])
    func `Any other status does not wait`(_ status: ReachabilityStatus) async {
        reachability.report(status)
        #expect(await reachability.waitWhileUnreachable())
    }

    @Test(arguments: [ReachabilityStatus.unknown, .reachable(.wired)])
    func `Every waiter continues when the status changes`(_ status: ReachabilityStatus) async throws {
        let waiters = (0..<10).map { _ in Task { await reachability.waitWhileUnreachable() } }
        try await until { reachability.observerCount == 10 }
        reachability.report(status)
        for waiter in waiters { #expect(await waiter.value) }
        #expect(reachability.observerCount == 0)
    }

    @Test func `A cancelled waiter stops waiting, and the others continue to wait`() async throws {
        let cancelled = Task { await reachability.waitWhileUnreachable() }
        let other = Task { await reachability.waitWhileUnreachable() }
        try await until { reachability.observerCount == 2 }
        cancelled.cancel()
        #expect(await !cancelled.value)
        #expect(reachability.observerCount == 1)
        reachability.report(.reachable(.wired))
        #expect(await other.value)
        #expect(reachability.observerCount == 0)
    }

    @Test func `A task that was cancelled before does not wait`() async {
        let waiter = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await reachability.waitWhileUnreachable()
        }
        #expect(await !waiter.value)
        #expect(reachability.observerCount == 0)
    }

    @Test func `A cancellation at the time of the change leaves no waiter`() async {
        for _ in 0..<500 {
            reachability.report(.unreachable)
            let waiter = Task { await reachability.waitWhileUnreachable() }
            async let change: Void = reachability.report(.reachable(.wired))
            waiter.cancel()
            await change
            _ = await waiter.value
            #expect(reachability.observerCount == 0)
        }
    }
}

@Suite("The source of Reachability", .timeLimit(.minutes(10)))
struct ReachabilitySourceTests {
    /// A source that counts how often it is started and stopped.
    private final class Source: Sendable {
        struct Counts: Equatable {
            var begun = 0
            var ended = 0
        }

        private let counts = Lock(Counts())
        private let listener = Lock<Reachability.Report?>(nil)

        func watch(_ report: @escaping Reachability.Report, works: Bool = true) -> Reachability.Stop? {
            counts.withLock { $0.begun += 1 }
            listener.withLock { $0 = report }
            report(works ? .reachable(.wired) : .unknown)
            guard works else { return nil }
            return { self.counts.withLock { $0.ended += 1 } }
        }

        func report(_ status: ReachabilityStatus) { listener.withLock { $0 }?(status) }

        var now: Counts { counts.withLock { $0 } }
    }

    private let source = Source()

    @Test func `The source is started at the first use, and only once`() async {
        let reachability = Reachability { [source] in source.watch($0) }
        _ = APIProxy()
        #expect(source.now == .init(begun: 0, ended: 0))
        #expect(reachability.status == .reachable(.wired))
        _ = reachability.updates
        #expect(await reachability.waitWhileUnreachable())
        #expect(source.now == .init(begun: 1, ended: 0))
    }

    @Test func `Updates and waiting start the source too`() async {
        let observed = Reachability { [source] in source.watch($0) }
        var updates = observed.updates.makeAsyncIterator()
        #expect(await updates.next() == .reachable(.wired))
        #expect(source.now.begun == 1)
        let awaited = Reachability { [source] in source.watch($0) }
        #expect(await awaited.waitWhileUnreachable())
        #expect(source.now.begun == 2)
    }

    @Test func `Later reports of the source change the status, until the object is released`() {
        do {
            let reachability = Reachability { [source] in source.watch($0) }
            #expect(reachability.status == .reachable(.wired))
            source.report(.unreachable)
            #expect(reachability.status == .unreachable)
            #expect(source.now.ended == 0)
        }
        #expect(source.now == .init(begun: 1, ended: 1))
        source.report(.reachable(.wired))
    }

    @Test func `A source that cannot start is started again at each use`() {
        let works = Lock(false)
        let reachability = Reachability { [source] report in
            source.watch(report, works: works.withLock { $0 })
        }
        #expect([reachability.status, reachability.status] == [.unknown, .unknown])
        works.withLock { $0 = true }
        #expect([reachability.status, reachability.status] == [.reachable(.wired), .reachable(.wired)])
        #expect(source.now == .init(begun: 3, ended: 0))
    }
}
