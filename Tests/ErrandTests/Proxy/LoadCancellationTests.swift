import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor
@Suite(
    "A load that is cancelled at any point ends as cancelled",
    .limitedConcurrency,
    .blocksThread,
    .hangLimit,
    .timeLimit(.minutes(10))
)
struct LoadCancellationTests {
    /// Every point at which a load can wait.
    enum CancellationPoint: CaseIterable, Sendable {
        case queued, waitingToStart, joined, sending, redirected, insideBody, delivering
        case backingOff, waitingForNetwork, renewing, replaying
        case adaptingParams, adaptingRequest, adaptingResponse, adaptingData

        /// The points that a test can reach over sockets.
        static let overSockets = allCases.filter { $0 != .waitingForNetwork }

        /// Those of a load with a file or a stream, which shares no exchange, and whose content no adapter of data sees.
        static let ofTransfers = allCases.filter { ![.joined, .adaptingData].contains($0) }
    }

    /// Every way to cancel a load.
    enum Manner: CaseIterable, Sendable {
        case byID, fromAnotherThread, ofRequest, ofProxy, byRelease, ofTask, byLogout
    }

    @Test(.fault(15), .fault(44), arguments: CancellationPoint.allCases, Manner.allCases)
    func `It ends as cancelled over a scripted transport`(_ point: CancellationPoint, _ manner: Manner) async throws {
        try await cancel(at: point, manner)
    }

    @Test(.fault(15), .fault(44), .fault(118), arguments: CancellationPoint.ofTransfers, Manner.allCases)
    func `So does a download that can continue, which leaves nothing but its part`(
        _ point: CancellationPoint,
        _ manner: Manner
    ) async throws {
        for kind in TransportKind.kinds(at: point) { try await cancel(at: point, manner, of: .download, live: kind) }
    }

    @Test(.fault(15), .fault(44), arguments: CancellationPoint.ofTransfers, Manner.allCases)
    func `So does a stream, which delivers nothing more`(_ point: CancellationPoint, _ manner: Manner) async throws {
        for kind in TransportKind.kinds(at: point) { try await cancel(at: point, manner, of: .stream, live: kind) }
    }

    @Test(.fault(15), .fault(44), arguments: CancellationPoint.overSockets, Manner.allCases)
    func `It ends as cancelled over sockets`(_ point: CancellationPoint, _ manner: Manner) async throws {
        for kind in TransportKind.supportingInterruptedHeads { try await cancel(at: point, manner, live: kind) }
    }

    @Test(.fault(134), arguments: CancellationPoint.allCases, [Manner.byID, .fromAnotherThread, .ofTask])
    func `Monitors see one ending, and events in a legal order`(
        _ point: CancellationPoint,
        _ manner: Manner
    ) async throws {
        let recorder = EventRecorder()
        let scene = try LoadScene(point, of: .data, live: nil)
        scene.proxy.monitors = [recorder]
        await scene.begin(manner)
        await scene.cancel(manner)
        await scene.release()
        try await until { scene.proxy.activeRequests.isEmpty && recorder.ended == recorder.ids.count }
        #expect(recorder.violations.isEmpty, "\(recorder.violations)")
        #expect(recorder.ids.count > 0)
        let last = try #require(recorder.ids.last)
        #expect(recorder.steps(of: last).last == "cancelled", "\(recorder.steps(of: last))")
        #expect(recorder.steps(of: last).contains("queued") == (point == .queued))
    }

    private func cancel(
        at point: CancellationPoint,
        _ manner: Manner,
        of kind: ActiveRequest.Kind = .data,
        live transportKind: TransportKind? = nil
    ) async throws {
        let scene = try LoadScene(point, of: kind, live: transportKind)
        await scene.begin(manner)
        let (sent, elements) = (scene.arrivals, scene.elements)
        await scene.cancel(manner)
        #expect(scene.proxy.activeRequests.isEmpty)
        // It suspends the main actor, so that the ending may be delivered meanwhile.
        if manner != .ofTask { #expect(scene.screen.events.isEmpty) }
        await scene.release()
        // The delegate of a released request or of an async call is not notified.
        #expect(scene.screen.events == ([.byRelease, .ofTask].contains(manner) ? [] : [.cancelled]))
        #expect(await scene.callerOutcome() == (manner == .ofTask ? .cancelled : nil))
        #expect(scene.indicator.isBalanced)
        #expect(scene.arrivals == sent, "nothing is sent after a cancel")
        #expect(scene.proxy.queuedCount == 0)
        #expect(scene.elements == elements || scene.elements.isEmpty)
        #expect(try scene.folder.names.allSatisfy { $0.hasPrefix(".file.errand-part1") })
    }

    @Test(.fault(15)) func `A load that is cancelled while it decodes ends as cancelled`() async {
        let screen = Screen()
        let hook = DecodeHook()
        let service = APIService.sample { $0.decoder.userInfo[DecodeHook.key] = hook }
        let proxy = APIProxy(fake: ScriptedTransport { _ in .json(goodsJSON([])) }, service: service)
        hook.action.withLock { $0 = { proxy.cancelAllRequests() } }
        let request = HookedRequest(delegate: screen, proxy: proxy)
        request.loadData()
        #expect(await screen.ending() == .cancelled)
        await sentinel(proxy)
        #expect(screen.events == [.cancelled])
        #expect(request.response == nil)
    }

    @Test(.fault(16), .fault(23), arguments: [nil] + TransportKind.supportingInterruptedHeads.map(Optional.some))
    func `Cancelled at random instants, each load ends once`(_ kind: TransportKind?) async throws {
        let server = try FixtureServer.start { _ in
            Response.json(bytes: goodsJSON([]).utf8).delayed(by: .milliseconds(2))
        }
        let scripted = ScriptedTransport { _ in
            try await Task.sleep(for: .milliseconds(2))
            return .json(goodsJSON([]))
        }
        let service = APIService.sample { if kind != nil { $0.baseURL = server.baseURL } }
        let proxy = APIProxy(service: service, transport: try kind?.make() ?? scripted)
        let screen = Screen()
        let turns = rounds(40, slow: 400)
        var longest = 80.0
        for _ in 0..<turns {
            let requests = (0..<50).map { _ in GoodsRequest(delegate: screen, proxy: proxy) }
            let ids = requests.map { $0.loadData() }
            let cancelling = Task.detached { [longest] in
                for id in ids.shuffled() {
                    try? await Task.sleep(for: .microseconds(Double.random(in: 0...longest)))
                    proxy.cancelRequest(id)
                }
            }
            let endings = await screen.endings(of: requests)
            #expect(endings.allSatisfy { $0 == .success || $0 == .cancelled })
            // However slow the machine is, some soon end before their cancel, and some by it.
            if !endings.contains(.success) { longest *= 2 }
            if !endings.contains(.cancelled) { longest /= 2 }
            await cancelling.value
            #expect(requests.allSatisfy { !$0.isLoading })
        }
        await sentinel(proxy)
        #expect(screen.events.count == turns * 50)
        #expect(screen.events.contains(.success) && screen.events.contains(.cancelled))
        #expect(proxy.activeRequests.isEmpty)
    }
}

/// Called by the decoder for the first value.
final class DecodeHook: Sendable {
    static let key: CodingUserInfoKey = {
        guard let key = CodingUserInfoKey(rawValue: "errand.tests.hook") else { preconditionFailure("no key") }
        return key
    }()

    let action = Lock<(@Sendable () -> Void)?>(nil)
}

/// A list whose decoding calls a hook.
struct HookedGoods: Decodable, Sendable {
    let goods: [Goods]

    init(from decoder: any Decoder) throws {
        (decoder.userInfo[DecodeHook.key] as? DecodeHook)?.action.withLock { $0 }?()
        goods = try [Goods](from: decoder)
    }
}

final class HookedRequest: SampleRequest, APIManager {
    typealias Response = HookedGoods
}
