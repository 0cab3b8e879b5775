import ErrandTesting
import Foundation

@testable import Errand
@testable import ErrandTestSupport

/// A delegate that records the endings of groups.
@MainActor final class GroupScreen: APIGroupDelegate {
    enum Event: Equatable {
        case success
        case failure(APIErrorType)
        case cancelled
        case progress(Int, Int)
    }

    private(set) var events: [Event] = []
    var onEvent: (@MainActor (APIGroup, Event) -> Void)?

    func groupDidSucceed(_ group: APIGroup) { record(.success, group) }
    func group(_ group: APIGroup, didFailWith error: APIError) { record(.failure(error.type), group) }
    func groupDidCancel(_ group: APIGroup) { record(.cancelled, group) }
    func group(_ group: APIGroup, didFinish count: Int, of total: Int) { record(.progress(count, total), group) }

    private func record(_ event: Event, _ group: APIGroup) {
        MainActor.assertIsolated()
        events.append(event)
        onEvent?(group, event)
    }
}

/// Responses by path: `/goods/3` with a list of one article with that number, `/fail/…` with 503; `/hang/…` waits for the
/// first latch, `/later/…` for the second.
@MainActor struct GroupServer {
    let latch = Latch()
    let later = Latch()
    let transport: ScriptedTransport
    let proxy: APIProxy

    init() {
        transport = ScriptedTransport { [latch, later] request throws(TransportError) in
            let parts = request.url.pathComponents
            if parts.contains("hang") { try await latch.wait() }
            if parts.contains("later") { try await later.wait() }
            if parts.contains("fail") { return HTTPResponse(status: 503) }
            return .json(goodsJSON([Goods(id: Int(parts.last ?? "") ?? 0, name: "壶")]))
        }
        proxy = APIProxy(fake: transport)
    }

    func goods(_ path: String) -> GoodsRequest {
        let request = GoodsRequest(proxy: proxy)
        request.path = path
        return request
    }

    func text(_ path: String) -> TextRequest {
        let request = TextRequest(proxy: proxy)
        request.path = path
        return request
    }

    var paths: [String] { transport.requests.map { String($0.url.path().dropFirst("/api".count)) } }
}
