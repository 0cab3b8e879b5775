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
    /// Delays scripted answers.
    private let latch: Latch
    /// Delays the server's answers.
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
            Self.behaviour(at: point, request.path, request.headers["X-Token"]).answer(behind: gate)
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
        case .insideBody: .answerHalf
        case .adaptingParams, .adaptingRequest, .adaptingResponse, .adaptingData: .answer
        case .backingOff: .fail
        case .waitingForNetwork: .noNetwork
        case .waitingToStart, .renewing: isRenewed ? .answer : .refuse
        case .replaying: isRenewed ? .hang : .refuse
        }
    }
}

/// The action on one request.
private enum SceneBehaviour {
    case answer, hang, answerHalf, refuse, fail, redirect, noNetwork

    func response(behind latch: Latch) async throws -> HTTPResponse {
        switch self {
        case .answer: break
        case .hang, .answerHalf: try await latch.wait()
        case .refuse: return .status(401)
        case .fail: return .status(503)
        case .redirect: return .status(302, headers: ["Location": "/moved"])
        case .noNetwork: throw TransportError(.noNetwork, "no route")
        }
        return .json(goodsJSON([]))
    }

    func answer(behind gate: Gate) -> Answer {
        let goods = Answer.json(bytes: goodsJSON([]).utf8)
        return switch self {
        case .answer: goods
        case .hang: goods.preceded(by: .pass(gate))
        case .answerHalf: .script(.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"), .pass(gate), .close)
        case .refuse: .status(401)
        case .fail: .status(503)
        case .redirect: Answer(status: 302, headers: ["Location": "/moved", "Content-Length": "0"], steps: [])
        case .noNetwork: .script(.close)
        }
    }
}
