import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("Endings and progress are delivered on the main actor", .hangLimit, .timeLimit(.minutes(10)))
final class MainDeliveryTests {
    let delivery = MainDelivery()
    var calls: [String] = []

    /// Adds a call when it is delivered.
    private func deliver(_ name: String, then work: @escaping @MainActor @Sendable () -> Void = {}) {
        delivery.deliver { [self] in
            calls.append(name)
            work()
        }
    }

    @concurrent private func deliver(_ count: Int, by caller: Int) async {
        for number in 0..<count {
            delivery.deliver { [self] in calls.append("\(caller) \(number)") }
            if number.isMultiple(of: 100) { await Task.yield() }
        }
    }

    private func mark() {
        Task { @MainActor [self] in calls.append("mark") }
    }

    @Test func `What is ready together shares one hop, in the order of the calls`() async {
        deliver("a")
        mark()
        deliver("b")
        deliver("c")
        #expect(calls.isEmpty, "nothing is delivered before the call returns")
        #expect(delivery.count == 3)
        await suspend(while: calls.count < 4)
        #expect(calls == ["a", "b", "c", "mark"])
    }

    @Test func `What a delivery begins is in the next hop, so that the main actor is not held`() async {
        deliver("a") { [self] in
            mark()
            deliver("b")
        }
        await suspend(while: calls.count < 3)
        #expect(calls == ["a", "mark", "b"])
    }

    @Test func `Each of many concurrent deliveries is made once, in the order of its caller`() async {
        let (callers, count) = (8, 2_000)
        await withTaskGroup { group in
            for caller in 0..<callers {
                group.addTask { await self.deliver(count, by: caller) }
            }
        }
        await suspend(while: calls.count < callers * count)
        for caller in 0..<callers {
            #expect(calls.filter { $0.hasPrefix("\(caller) ") } == (0..<count).map { "\(caller) \($0)" })
        }
        #expect(delivery.count == 0)
    }

    @Test func `What is ready soon after a hop shares the next one`() async {
        deliver("first")
        await suspend(while: calls.isEmpty)
        deliver("a")
        deliver("b")
        deliver("c")
        mark()
        await suspend(while: calls.count < 5)
        #expect(calls == ["first", "a", "b", "c", "mark"])
    }

    // Exit tests need child processes.
    #if os(macOS) || os(Linux)
    @Test(.startsLate) func `Jobs that block the thread pool delay no ending for long`() async {
        await #expect(processExitsWith: .success) {
            // Each blocks a thread of the pool; no further job begins when each thread has one.
            let blocker = PoolBlocker()
            for _ in 0..<64 { Task.detached(priority: .high) { blocker.block() } }
            blocker.waitUntilBlocked(ProcessInfo.processInfo.activeProcessorCount)
            let delivery = MainDelivery()
            for number in 0..<100 {
                let start = ContinuousClock.now
                await withCheckedContinuation { continuation in
                    // Also a moment after another one.
                    delivery.deliver { delivery.deliver { continuation.resume() } }
                }
                #expect(start.duration(to: .now) < .seconds(5), "\(number)")
                guard start.duration(to: .now) < .seconds(5) else { break }
            }
            blocker.release()
        }
    }
    #endif

    @Test func `A hop has neither the login nor the environment of the load that is first`() async {
        let service = APIService.sample()
        let scope = ReloginScope(of: service)
        deliver("first")
        await suspend(while: calls.isEmpty)
        await withCheckedContinuation { continuation in
            ReloginScope.$current.withValue(scope) {
                EnvironmentScope.$current.withValue(APIEnvironment("staging", baseURL: service.baseURL)) {
                    delivery.deliver {
                        #expect(ReloginScope.current == nil)
                        #expect(EnvironmentScope.current == nil)
                        continuation.resume()
                    }
                }
            }
        }
    }

    @Test func `Of the progress that is reported meanwhile, the newest of each direction is delivered`() async {
        let (first, second) = (RequestID.next(), RequestID.next())
        func report(_ direction: TransferProgress.Direction, _ bytes: Int64, of id: RequestID) {
            delivery.deliver(TransferProgress(direction, completedBytes: bytes, totalBytes: nil), of: id) { [self] in
                calls.append("\(id == first ? "first" : "second") \($0.direction) \($0.completedBytes)")
            }
        }
        report(.upload, 1, of: first)
        report(.download, 2, of: first)
        report(.upload, 3, of: second)
        report(.upload, 4, of: first)
        report(.download, 5, of: first)
        deliver("end")
        await suspend(while: calls.count < 4)
        #expect(calls == ["first upload 4", "first download 5", "second upload 3", "end"])
        report(.upload, 6, of: first)
        await suspend(while: calls.count < 5)
        #expect(calls.last == "first upload 6")
    }
}

/// Blocks threads until it is released, 20 seconds at most.
private final class PoolBlocker: Sendable {
    private let began = DispatchSemaphore(value: 0)
    private let released = DispatchSemaphore(value: 0)

    func block() {
        began.signal()
        guard released.wait(timeout: .now() + 20) == .success else { return }
        // For the next thread.
        released.signal()
    }

    func waitUntilBlocked(_ count: Int) {
        for _ in 0..<count { _ = began.wait(timeout: .now() + 20) }
    }

    func release() { released.signal() }
}
