import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor
@Suite("No monitor is called on the thread of a transport", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct MonitorThreadTests {
    @Test(.blocksThread, .serialized, arguments: TransportKind.allCases, ["made", "sent", "head", "responded"])
    func `A monitor that blocks in an event of one load delays no transfer of another`(
        _ kind: TransportKind,
        _ step: String
    ) async throws {
        let server = try FixtureServer.start { _ in .text("there") }
        let point = Checkpoint()
        let recorder = EventRecorder { event in
            if event.path.hasSuffix("/slow"), event.kind.step.hasPrefix(step) { point.pass() }
        }
        let proxy = APIProxy(service: .sample(), transport: try kind.make(), monitors: [recorder])
        let slow = Task { try await proxy.send(HTTPRequest(.get, server.url("/slow"))) }
        try await until { point.isReached }
        // On the same thread of the transport, on a new connection and on one that is kept.
        for _ in 0..<3 { _ = try await proxy.send(HTTPRequest(.get, server.url("/fast"))) }
        point.release()
        _ = try await slow.value
        try await until { recorder.ended == 4 }
        #expect(recorder.violations.isEmpty, "\(recorder.violations)")
        for id in recorder.ids {
            let steps = recorder.steps(of: id)
            #expect(steps.last == "success" && steps.count { $0 == "success" } == 1, "\(steps)")
            #expect(steps.contains("head"), "\(steps)")
        }
        server.stop()
    }

    #if os(Linux)
    @Test func `Each event of libcurl is delivered on another thread than its observers are called on`() async throws {
        let server = try FixtureServer.start { _ in .text("there") }
        let threads = Lock<(transport: Set<ObjectIdentifier>, monitor: [ObjectIdentifier])>(([], []))
        let recorder = EventRecorder { event in
            guard ["sent", "head"].contains(event.kind.step.prefix(4)) else { return }
            threads.withLock { $0.monitor.append(currentThread()) }
        }
        let proxy = APIProxy(service: .sample(), transport: try CurlTransport(), monitors: [recorder])
        for number in 0..<20 {
            var request = HTTPRequest(.get, server.url("/\(number)"))
            // The loop has a separate thread.
            request.observer = { _ in _ = threads.withLock { $0.transport.insert(currentThread()) } }
            _ = try await proxy.send(request)
        }
        try await until { recorder.ended == 20 }
        let (transport, monitor) = threads.withLock { ($0.transport, $0.monitor) }
        #expect(monitor.count > 20)
        #expect(transport.count == 1)
        #expect(transport.isDisjoint(with: monitor))
        #expect(recorder.violations.isEmpty, "\(recorder.violations)")
        server.stop()
    }
    #endif

    @Test func `Events of a transport have the order in which it reports them, and the ending is the last`()
        async throws
    {
        let recorder = EventRecorder()
        let transport = ScriptedTransport { request in
            request.observer?(.sent)
            request.observer?(.head(status: 200, headers: [:]))
            return .json(#"{"errcode":200,"data":[]}"#)
        }
        let proxy = APIProxy(service: .sample(), transport: transport, monitors: [recorder])
        await withTaskGroup { group in
            for _ in 0..<500 {
                group.addTask { _ = try? await proxy.send(HTTPRequest(.get, URL("http://shop.test/"))) }
            }
        }
        try await until { recorder.ended == 500 }
        #expect(recorder.violations.isEmpty, "\(recorder.violations.prefix(3))")
        for id in recorder.ids {
            let steps = recorder.steps(of: id)
            #expect(steps.suffix(5) == ["made", "sent", "head", "responded 200", "success"], "\(steps)")
        }
    }
}

/// The current thread.
private func currentThread() -> ObjectIdentifier { ObjectIdentifier(Thread.current) }
