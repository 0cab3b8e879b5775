import ErrandTesting
import Foundation

@testable import Errand

/// A server of lists of the numbers from 0, in both response formats.
final class NumberServer: Sendable {
    private struct State {
        var numbers: [Int]
        var total: Int
        var failing: String?
        var urls: [URL] = []
    }

    private let state: Lock<State>

    init(count: Int) {
        state = Lock(State(numbers: Array(0..<count), total: count))
    }

    var transport: ScriptedTransport { ScriptedTransport { [self] in response($0) } }
    var queries: [String] { state.withLock(\.urls).map { $0.query ?? "" } }
    /// The last component of the path of each request.
    var paths: [String] { state.withLock(\.urls).map(\.lastPathComponent) }

    /// Lets the next request fail, or the next one whose query contains this text.
    func failNextRequest(_ query: String? = "") { state.withLock { $0.failing = query } }
    func announce(total: Int) { state.withLock { $0.total = total } }
    /// Leaves the first items alone.
    func shorten(to count: Int) { state.withLock { $0.numbers = Array($0.numbers.prefix(count)) } }
    /// Inserts an item at the start, so that all others move by one.
    func insertAtStart(_ number: Int = 0) { state.withLock { $0.numbers.insert(number, at: 0) } }

    func response(_ request: HTTPRequest) -> HTTPResponse {
        state.withLock { state in
            state.urls.append(request.url)
            if let failing = state.failing, failing.isEmpty || request.url.query?.contains(failing) == true {
                state.failing = nil
                return HTTPResponse(status: 503)
            }
            let query = URLComponents(url: request.url, resolvingAgainstBaseURL: true)?.queryItems ?? []
            func number(_ name: String) -> Int? { query.first { $0.name == name }?.value.flatMap { Int($0) } }
            let size = number("pageSize") ?? number("limit") ?? 0
            let start = number("offset") ?? ((number("page") ?? 1) - 1) * size
            let list = Array(state.numbers.dropFirst(start).prefix(size))
            let data = number("offset") == nil ? #"{"list":\#(list),"totalRow":\#(state.total)}"# : "\(list)"
            return .json(#"{"errcode":200,"data":\#(data)}"#)
        }
    }
}

/// The list of the numbers of a ``NumberServer``, by offset.
final class OffsetNumbers: PageAPIRequest<[Int]>, APIManager {
    let path = "/numbers"
    let method = HTTPMethod.get
    override var strategy: any PageStrategy { .offset(limit: 10) }
    override var itemID: ItemID<Int>? { ItemID(\.self) }
}
