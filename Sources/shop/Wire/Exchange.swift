import Errand
import Foundation

/// One request and its answer, as sent and received.
struct Exchange: Sendable {
    let request: HTTPRequest
    /// The path and the query.
    let path: String
    /// The kinds of credentials in the request's headers.
    let credentials: String
    let result: Result<HTTPResponse, TransportError>
    let duration: Duration

    init(_ request: HTTPRequest, _ result: Result<HTTPResponse, TransportError>, _ duration: Duration) {
        self.request = request
        path = request.url.path + (request.url.query.map { "?" + $0 } ?? "")
        let kinds = [("Cookie", "cookie"), ("X-Token", "token"), ("X-Key-ID", "key")]
        let shown = kinds.filter { request.headers[$0.0] != nil }
        credentials = shown.map(\.1).joined(separator: ", ")
        self.result = result
        self.duration = duration
    }
}

extension Exchange {
    /// The HTTP status; `nil` without an answer.
    var status: Int? { try? result.get().status }

    /// The error of the exchange; `nil` with an answer.
    var error: TransportError? {
        guard case .failure(let error) = result else { return nil }
        return error
    }

    /// The `errcode` of an answer in an envelope.
    var code: Int? {
        guard let body = try? result.get().body else { return nil }
        return (try? JSONDecoder().decode(Code.self, from: body))?.errcode
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
            exchange.outcome,
            exchange.code.map(String.init) ?? "",
            (try? exchange.result.get()).map { String($0.body.count) } ?? "",
            String(Int(exchange.duration / .milliseconds(1)))
        )
    }
}

extension Exchange {
    /// The beginning of a long path.
    fileprivate var shownPath: String { path.count > 50 ? path.prefix(49) + "…" : path }

    fileprivate var outcome: String {
        switch result {
        case .success(let response): String(response.status)
        case .failure(let error): "\(error.kind)"
        }
    }
}
