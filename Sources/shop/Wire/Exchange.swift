import Errand
import Foundation

/// One request and its response, as sent and received.
struct Exchange: Sendable {
    /// How it has ended.
    enum Outcome {
        case response(status: Int, body: Data)
        case failure(APIError)
    }

    let request: HTTPRequest
    /// The path and the query.
    let path: String
    /// The kinds of credentials in the request's headers.
    let credentials: String
    let outcome: Outcome
    let duration: Duration

    init(_ request: HTTPRequest, _ outcome: Outcome, _ duration: Duration) {
        self.request = request
        path = request.url.path + (request.url.query.map { "?" + $0 } ?? "")
        let kinds = [("Cookie", "cookie"), ("X-Token", "token"), ("X-Key-ID", "key")]
        let shown = kinds.filter { request.headers[$0.0] != nil }
        credentials = shown.map(\.1).joined(separator: ", ")
        self.outcome = outcome
        self.duration = duration
    }
}

extension Exchange {
    /// The HTTP status; `nil` without a response.
    var status: Int? {
        guard case .response(let status, _) = outcome else { return nil }
        return status
    }

    /// The body of the response; `nil` without one.
    var body: Data? {
        guard case .response(_, let body) = outcome else { return nil }
        return body
    }

    /// The error of the exchange; `nil` with a response.
    var error: APIError? {
        guard case .failure(let error) = outcome else { return nil }
        return error
    }

    /// The `errcode` of a response in an envelope.
    var code: Int? {
        body.flatMap { try? JSONDecoder().decode(Code.self, from: $0) }?.errcode
    }

    private struct Code: Decodable {
        let errcode: Int
    }
}

extension Table {
    /// Creates a table with a row for each exchange.
    init(_ exchanges: [Exchange]) {
        self.init(
            .left("Wire"),
            .left("Path"),
            .left("Shows"),
            .right("Status"),
            .right("Code"),
            .right("Bytes"),
            .right("ms")
        )
        for exchange in exchanges { add(exchange) }
    }

    private mutating func add(_ exchange: Exchange) {
        add(
            exchange.request.method.rawValue,
            exchange.shownPath,
            exchange.credentials,
            exchange.shownOutcome,
            exchange.code.map(String.init) ?? "",
            exchange.body.map { String($0.count) } ?? "",
            String(Int(exchange.duration / .milliseconds(1)))
        )
    }
}

extension Exchange {
    /// The beginning of a long path.
    fileprivate var shownPath: String { path.count > 50 ? path.prefix(49) + "…" : path }

    fileprivate var shownOutcome: String {
        switch outcome {
        case .response(let status, _): String(status)
        case .failure(let error): (error.underlying as? TransportError).map { "\($0.kind)" } ?? "\(error.type)"
        }
    }
}
