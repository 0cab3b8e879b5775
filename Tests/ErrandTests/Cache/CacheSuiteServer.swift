import ErrandTesting
import FixtureServer
import Foundation

@testable import Errand
@testable import ErrandTestSupport

/// The server of the suite: a resource for each case, which responds to each request as the case says.
final class CacheSuiteServer: Sendable {
    private final class Resources: Sendable {
        let all = Lock<[String: CacheSuiteResource]>([:])
    }

    private let resources = Resources()
    private let server: FixtureServer

    var baseURL: URL { server.baseURL }

    init() throws {
        server = try FixtureServer.start { [resources] request in
            // The path is /test/, an ID, and perhaps a file name.
            let id = request.path.split(separator: "/").dropFirst().first.map(String.init) ?? ""
            guard let resource = resources.all.withLock({ $0[id] }) else { return .text("no resource", status: 404) }
            return resource.response(to: request)
        }
    }

    func add(_ resource: CacheSuiteResource) {
        resources.all.withLock { $0[resource.id] = resource }
    }

    /// A background request that arrives later receives a 404.
    func remove(_ resource: CacheSuiteResource) {
        resources.all.withLock { $0.removeValue(forKey: resource.id) }
    }
}

/// The resource of one case, with the requests that have arrived for it.
final class CacheSuiteResource: Sendable {
    /// What the server keeps of a request for the checks at the end.
    struct Arrival: Sendable {
        let number: Int?
        let method: String
        /// By their names in lower case.
        let headers: [String: String]
        /// The lines of the response that the client has to receive.
        var expectedHeaders: [(name: String, value: String)] = []

        init(_ request: RecordedRequest) {
            number = request.header("Req-Num")?.leadingNumber
            method = request.method
            let lines = request.headers.map { ($0.name.lowercased(), String(latin1: $0.bytes)) }
            headers = Dictionary(lines) { "\($0), \($1)" }
        }
    }

    private struct State {
        var arrivals: [Arrival] = []
        /// The lines of each step that has been responded to, with their dates.
        var headers: [Int: [CacheSuite.Header]] = [:]
    }

    let id = UUID().uuidString.lowercased()
    let clock: ManualClock
    let steps: [CacheSuite.Step]
    private let log: @Sendable (String) -> Void
    private let state = Lock(State())

    init(_ steps: [CacheSuite.Step], clock: ManualClock, log: @escaping @Sendable (String) -> Void) {
        (self.steps, self.clock, self.log) = (steps, clock, log)
    }

    /// In their order.
    var arrivals: [Arrival] { state.withLock(\.arrivals) }

    /// Called on the server's thread.
    func response(to request: RecordedRequest) -> Response {
        log("server: \(request.method) \(request.target)\(request.headers.lines)")
        let response = state.withLock { self.response(to: request, &$0) }
        log("server: \(response.text)")
        return response
    }

    private func response(to request: RecordedRequest, _ state: inout State) -> Response {
        var arrival = Arrival(request)
        let index = (arrival.number ?? state.arrivals.count + 1) - 1
        guard steps.indices.contains(index) else { return .text("no step \(index + 1)", status: 409) }
        let step = steps[index]
        if let pause = step.responsePause { clock.advance(by: .seconds(pause)) }
        let status = status(of: index, for: arrival, state)
        let lines = lines(of: index, to: request, from: &state)
        arrival.expectedHeaders = lines.expected
        state.arrivals.append(arrival)
        let numbers = state.arrivals.map { $0.number.map { String($0) } ?? "" }.joined(separator: " ")
        let fixed: HeaderLines = [
            "Server-Base-Url": request.target, "Server-Request-Count": String(state.arrivals.count),
            "Client-Request-Count": arrival.number.map { String($0) } ?? "NaN", "Server-Now": String(now),
            "Request-Numbers": numbers,
        ]
        return response(of: step, status: status, headers: fixed + lines.all, isHEAD: request.method == "HEAD")
    }

    /// In milliseconds since 1970.
    private var now: Int { Int(clock.date.timeIntervalSince1970 * 1_000) }

    /// 304 for a validation with what the step before has sent, and 999 where one is expected and not made.
    private func status(of index: Int, for arrival: Arrival, _ state: State) -> Int {
        let step = steps[index]
        guard step.expectedType?.condition != nil else { return step.responseStatus?.code ?? 200 }
        let conditions = [("if-modified-since", "last-modified"), ("if-none-match", "etag")]
        let isValidated = conditions.contains { condition, validator in
            guard let stored = sentValue(of: validator, in: index - 1, state) else { return false }
            return arrival.headers[condition] == stored
        }
        return isValidated ? 304 : 999
    }

    private func sentValue(of name: String, in index: Int, _ state: State) -> String? {
        guard steps.indices.contains(index) else { return nil }
        let lines = state.headers[index] ?? steps[index].responseHeaders ?? []
        guard case .text(let text)? = lines.last(where: { $0.name.lowercased() == name })?.value else { return nil }
        return text.isEmpty ? nil : text
    }

    /// The step's own lines, and those of them that are checked; a step that is repeated sends the same dates again.
    private func lines(
        of index: Int,
        to request: RecordedRequest,
        from state: inout State
    ) -> (all: HeaderLines, expected: [(name: String, value: String)]) {
        let step = steps[index]
        let headers =
            state.headers[index]
            ?? (step.responseHeaders ?? []).map { $0.resolved(by: step, now: now, base: request.target) }
        state.headers[index] = headers
        var (all, expected) = (HeaderLines(), [(name: String, value: String)]())
        for header in headers {
            all.append(HeaderLine(header.name, bytes: header.text.latin1))
            guard header.isExpected else { continue }
            expected.removeAll { $0.name == header.name }
            expected.append((header.name, all.joinedValue(header.name) ?? ""))
        }
        return (all, expected)
    }

    private func response(of step: CacheSuite.Step, status: Int, headers: HeaderLines, isHEAD: Bool) -> Response {
        guard step.disconnect != true else { return Response(steps: [.close]) }
        var headers = headers
        if headers["Content-Type"] == nil { headers.append(HeaderLine("Content-Type", "text/plain")) }
        if headers["Date"] == nil { headers.append(HeaderLine("Date", CacheSuiteDate.text(now / 1_000))) }
        let head = (step.interimResponses ?? []).map(\.head).joined()
        let response = response(Array((step.responseBody ?? id).utf8), status: status, headers: headers, isHEAD: isHEAD)
        return head.isEmpty ? response : response.preceded(by: .write(head))
    }

    /// As node.js does, which sends no length for `HEAD`, nor with a length or a coding of the step.
    private func response(_ body: [UInt8], status: Int, headers: HeaderLines, isHEAD: Bool) -> Response {
        let hasBody = status != 204 && status != 304 && !isHEAD
        guard hasBody else { return Response(status: status, headers: headers, steps: []) }
        guard let length = headers["Content-Length"] ?? headers["Transfer-Encoding"] else {
            return .bytes(body, status: status, headers: headers)
        }
        let response = Response(status: status, headers: headers, steps: [.write(body)])
        // Otherwise, what follows the stated length would be read as another response.
        return length == String(body.count) ? response : response.closing()
    }
}

extension CacheSuite.InterimResponse {
    fileprivate var head: String {
        "HTTP/1.1 \(status) Interim\r\n" + headers.map { "\($0.name): \($0.text)\r\n" }.joined() + "\r\n"
    }
}

extension HeaderLines {
    /// The values of all lines of a name, as one.
    fileprivate func joinedValue(_ name: String) -> String? {
        let lines = filter { $0.name.lowercased() == name.lowercased() }
        return lines.isEmpty ? nil : lines.map { String(latin1: $0.bytes) }.joined(separator: ", ")
    }

    fileprivate var lines: String { map { "\n    \($0.name): \(String(latin1: $0.bytes))" }.joined() }
}

extension Response {
    /// What it writes, for a log.
    fileprivate var text: String {
        steps.map { step in
            guard case .write(let bytes) = step else { return "[\(step)]" }
            return String(latin1: bytes).replacing("\r\n", with: "\n    ")
        }.joined()
    }
}
