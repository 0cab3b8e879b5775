import ErrandTesting
import FixtureServer
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

/// A load that is stopped at one point, over a scripted transport or over live sockets.
@MainActor final class LoadScene {
    typealias Point = LoadCancellationTests.CancellationPoint
    typealias Manner = LoadCancellationTests.Manner

    let screen = Screen()
    let indicator = IndicatorSpy()
    let proxy: APIProxy
    private let point: Point
    private let backend: SceneBackend
    private let clock = ManualClock()
    private let account = Account()
    private let loginLatch = Latch()
    private let (adapterBegan, adapterLatch) = (Latch(), Latch())
    private let network = Reachability(status: .unreachable)
    private let kind: ActiveRequest.Kind
    /// Of a download.
    let folder: TemporaryFolder
    private var request: (any BaseAPIRequest & APIManager)?
    private var blocker: GoodsRequest?
    private var caller: Task<APIErrorType?, Never>?

    init(_ point: Point, of kind: ActiveRequest.Kind, live transportKind: TransportKind?) throws {
        (self.point, self.kind) = (point, kind)
        folder = try TemporaryFolder()
        backend = try SceneBackend(point, live: transportKind)
        account.gate = loginLatch
        let service = APIService.sample { [account, backend, adapterBegan, adapterLatch] service in
            service.baseURL = backend.baseURL
            service.reloginHandler = account
            service.commonHeaders = { ["X-Token": account.token] }
            service.retryPolicy = RetryPolicy()
            service.retryPolicy.waitsForConnectivity = true
            guard let kind = point.adapterKind else { return }
            service.adapters = Adapters([kind]) { _, _ in
                adapterBegan.open()
                try await adapterLatch.wait()
            }
        }
        let limits = point == .queued ? QueueLimits(perHost: 1) : QueueLimits()
        let transport = backend.transport
        proxy = APIProxy(
            service: service,
            transport: transport,
            queueLimits: limits,
            reachability: network,
            clock: clock
        )
    }

    /// The number of requests that have arrived at the backend.
    var arrivals: Int { backend.arrivals() }

    /// Begins the load and runs it to its point, where it waits until ``release()``.
    func begin(_ manner: Manner) async {
        if [.queued, .waitingToStart].contains(point) { await block() }
        let request = makeRequest()
        self.request = request
        if manner == .ofTask {
            let count = proxy.activeRequests.count
            caller = Task { await request.outcome() }
            await suspend(while: proxy.activeRequests.count == count)
        } else {
            request.loadData(indicator: indicator)
        }
        await reachPoint()
    }

    private func makeRequest() -> any BaseAPIRequest & APIManager {
        switch kind {
        case .data, .upload:
            let request = GoodsRequest(delegate: screen, proxy: proxy)
            request.method = .get
            request.ownOptions.coalescesIdentical = point == .joined
            return request
        case .download:
            let request = DownloadRequest(delegate: screen, proxy: proxy)
            (request.method, request.target) = (.get, .file(folder.url.appending(path: "file")))
            request.ownOptions.resumesDownload = true
            return request
        case .stream: return LineStream(delegate: screen, proxy: proxy)
        }
    }

    /// Another load, which occupies the queue.
    private func block() async {
        let blocker = GoodsRequest(proxy: proxy)
        blocker.method = .get
        blocker.loadData()
        self.blocker = blocker
        if point == .queued { await arrival(1) } else { await relogin(waiters: 1) }
    }

    private func reachPoint() async {
        switch point {
        case .queued: await suspend(while: proxy.queuedCount < 1)
        case .waitingToStart: await relogin(waiters: 2)
        case .joined, .sending, .insideBody: await arrival(1)
        case .redirected: await arrival(2)
        case .delivering:
            await arrival(1)
            backend.open()
            // Without a suspension, because the delivery waits for the main actor.
            spin(while: proxy.delivery.count == 0)
        case .backingOff, .waitingForNetwork: await clock.waitForSleepers()
        case .renewing: await relogin(waiters: 1)
        case .adaptingParams, .adaptingRequest, .adaptingResponse, .adaptingData: try? await adapterBegan.wait()
        case .replaying:
            await relogin(waiters: 1)
            loginLatch.open()
            await arrival(2)
        }
    }

    private func arrival(_ count: Int) async {
        await suspend(while: arrivals < count)
    }

    private func relogin(waiters: Int) async {
        await suspend(while: account.logins < 1 || proxy.defaultService?.login.waiterCount != waiters)
    }

    /// Cancels the load, and releases the blocking one.
    func cancel(_ manner: Manner) async {
        guard let id = proxy.activeRequests.last?.id else { return }
        switch manner {
        case .byID: proxy.cancelRequest(id)
        case .fromAnotherThread: cancelOnAnotherThread(id)
        case .ofRequest: request?.cancelAllRequests()
        case .ofProxy: proxy.cancelAllRequests()
        case .byRelease: request = nil
        case .ofTask: caller?.cancel()
        case .byLogout: proxy.logout()
        }
        blocker = nil
        if let caller { _ = await caller.value }
    }

    /// Cancels on another thread, while this one waits: the main actor delivers nothing meanwhile.
    private func cancelOnAnotherThread(_ id: RequestID) {
        let cancelled = DispatchSemaphore(value: 0)
        Thread { [proxy] in
            proxy.cancelRequest(id)
            cancelled.signal()
        }.start()
        cancelled.wait()
    }

    /// Those that a stream has delivered.
    var elements: [String] { (request as? LineStream)?.elements ?? [] }

    /// The ending of the async call.
    func callerOutcome() async -> APIErrorType? { await caller?.value }

    /// Releases everything that waits.
    func release() async {
        backend.open()
        loginLatch.open()
        adapterLatch.open()
        network.report(.reachable(.wired))
        clock.advance(by: .seconds(1_000))
        // A load with a file ends once another thread has removed it.
        await suspend(while: !indicator.isBalanced)
        await sentinel(proxy)
        await suspend(while: clock.sleepers > 0)
    }
}

extension LoadScene.Point {
    /// The kind of adapter in which the load waits.
    fileprivate var adapterKind: AdapterKind? {
        switch self {
        case .adaptingParams: .params
        case .adaptingRequest: .request
        case .adaptingResponse: .response
        case .adaptingData: .data
        default: nil
        }
    }
}

extension TransportKind {
    /// The transports over which a load reaches a point; `nil` is a scripted one.
    static func kinds(at point: LoadScene.Point) -> [TransportKind?] {
        [nil] + (LoadScene.Point.overSockets.contains(point) ? supportingInterruptedHeads : [])
    }
}

/// The backend of a ``LoadScene``, in the process or over sockets.
struct SceneBackend: Sendable {
    let transport: any HTTPTransport
    let baseURL: URL
    let arrivals: @Sendable () -> Int
    /// Delays scripted responses.
    private let latch: Latch
    /// Delays the server's responses.
    private let gate: Gate

    init(_ point: LoadScene.Point, live kind: TransportKind?) throws {
        let (latch, gate) = (Latch(), Gate())
        (self.latch, self.gate) = (latch, gate)
        guard let kind else {
            let scripted = ScriptedTransport { request in
                try await Self.behaviour(at: point, request.url.path, request.headers["X-Token"]).response(
                    behind: latch
                )
            }
            (transport, baseURL, arrivals) = (scripted, URL("http://shop.test/api"), { scripted.requests.count })
            return
        }
        let server = try FixtureServer.start { request in
            Self.behaviour(at: point, request.path, request.headers["X-Token"]).response(behind: gate)
        }
        (transport, baseURL, arrivals) = (try kind.make(), server.baseURL, { server.requests.count })
    }

    func open() {
        latch.open()
        gate.open()
    }

    private static func behaviour(at point: LoadScene.Point, _ path: String, _ token: String?) -> SceneBehaviour {
        let isRenewed = token != "t0"
        return switch point {
        case .queued, .joined, .sending, .delivering: .hang
        case .redirected: path.hasSuffix("moved") ? .hang : .redirect
        case .insideBody: .halfResponse
        case .adaptingParams, .adaptingRequest, .adaptingResponse, .adaptingData: .response
        case .backingOff: .fail
        case .waitingForNetwork: .noNetwork
        case .waitingToStart, .renewing: isRenewed ? .response : .refuse
        case .replaying: isRenewed ? .hang : .refuse
        }
    }
}

/// The action on one request.
private enum SceneBehaviour {
    case response, hang, halfResponse, refuse, fail, redirect, noNetwork

    func response(behind latch: Latch) async throws -> HTTPResponse {
        switch self {
        case .response: break
        case .hang, .halfResponse: try await latch.wait()
        case .refuse: return .status(401)
        case .fail: return .status(503)
        case .redirect: return .status(302, headers: ["Location": "/moved"])
        case .noNetwork: throw TransportError(.noNetwork, "no route")
        }
        return .json(goodsJSON([]))
    }

    func response(behind gate: Gate) -> Response {
        let goods = Response.json(bytes: goodsJSON([]).utf8)
        return switch self {
        case .response: goods
        case .hang: goods.preceded(by: .pass(gate))
        case .halfResponse: .script(.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"), .pass(gate), .close)
        case .refuse: .status(401)
        case .fail: .status(503)
        case .redirect: Response(status: 302, headers: ["Location": "/moved", "Content-Length": "0"], steps: [])
        case .noNetwork: .script(.close)
        }
    }
}
