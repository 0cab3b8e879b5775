import Errand
import ErrandInspector
import ErrandTesting
import Foundation
import Synchronization

/// Planted secrets, searched in everything that the library prints of requests and responses.
struct SecretLeaks {
    private let planted: PlantedSecrets

    /// Plants at least `count` secrets.
    init(planting count: Int) {
        planted = PlantedSecrets(count: count)
    }

    /// Returns how many secrets are printed, by the log, cURL commands, an archive, a report, or descriptions.
    func count() throws -> Int {
        let lines = Mutex("")
        let log = APILog(.everything, showing: [.queries, .headers, .bodies]) { line in lines.withLock { $0 += line } }
        let recorder = HARRecorder()
        var texts: [String] = []
        for (index, exchange) in planted.exchanges.enumerated() {
            let events = events(of: exchange, number: UInt64(index + 1))
            for event in events {
                log.observe(event)
                recorder.observe(event)
            }
            texts.append(try exchange.request.curlCommand())
            texts += events.map(printed) + [printed(exchange.request), printed(exchange.response)]
        }
        texts += [lines.withLock { $0 }, printed(recorder)]
        let files = [recorder.data(), recorder.report()]
        let leaks = texts.map { planted.leaks(in: $0) } + files.map { planted.leaks(in: $0) }
        return leaks.reduce(into: Set()) { $0.formUnion($1) }.count
    }

    private func printed(_ value: Any) -> String {
        var dumped = ""
        dump(value, to: &dumped)
        return "\(value) \(String(reflecting: value)) \(dumped)"
    }

    /// Returns the events of a load that fails after a redirect, or succeeds.
    private func events(of exchange: PlantedSecrets.Exchange, number: UInt64) -> [APIEvent] {
        let response = APIResponse(exchange.response, url: exchange.urlWithUser, redirects: [exchange.request.url])
        let error = APIError(.http, response: response)
        let ending: APIEnding = number.isMultiple(of: 2) ? .failure(error) : .success
        var final = exchange.request
        final.url = exchange.urlWithUser
        let kinds: [(APIEvent.Kind, UInt64?)] = [
            (.began, nil), (.requestMade(exchange.request), 2 * number),
            (.headReceived(status: 302, headers: exchange.response.headers), 2 * number),
            (.redirected(exchange.response), 2 * number), (.requestMade(final), 2 * number + 1),
            (number.isMultiple(of: 3) ? .failed(error) : .responded(response), 2 * number + 1), (.ended(ending), nil),
        ]
        let id = RequestID.next()
        let (method, path) = (exchange.request.method, exchange.urlWithUser.absoluteString)
        return kinds.map { APIEvent($0.0, id: id, method: method, path: path, attempt: 1, exchange: $0.1) }
    }
}
