import ErrandTesting
import FixtureServer
import Foundation

@testable import Errand
@testable import ErrandTestSupport

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
