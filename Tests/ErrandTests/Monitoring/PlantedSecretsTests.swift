import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("10,000 planted secrets are not printed", .hangLimit, .timeLimit(.minutes(10)))
struct PlantedSecretsTests {
    /// Planted once: in a debug build that takes as long as a test.
    private static let shared = PlantedSecrets()
    private var planted: PlantedSecrets { Self.shared }
    private var exchanges: [PlantedSecrets.Exchange] { sampled(planted.exchanges) }

    private func printed(_ value: Any) -> String {
        var dumped = ""
        dump(value, to: &dumped)
        return "\(value)\n\(String(reflecting: value))\n\(dumped)"
    }

    private func expectNoLeak(_ source: String, _ text: String) {
        let leaks = planted.leaks(in: text)
        #expect(leaks.isEmpty, "\(source): \(leaks.count), for example \(leaks.first ?? "")")
    }

    @Test func `The secrets are found where they are printed`() throws {
        #expect(planted.secrets.count >= 10_000)
        #expect(Set(planted.secrets).count == planted.secrets.count)
        for secret in planted.secrets.prefix(rounds(500)) {
            #expect(planted.leaks(in: "a \(secret)") == [secret])
            #expect(planted.leaks(in: Data("x".utf8) + Data(secret.utf8)) == [secret])
            for prefix in ["", "a", "ab"] {
                #expect(planted.leaks(in: Data("\(prefix)\(secret) ".utf8).base64EncodedString()) == [secret])
            }
        }
        var found: Set<String> = []
        for exchange in planted.exchanges {
            let command = try exchange.request.curlCommand(includesSecrets: true)
            let response = exchange.response.headers.map { "\($0.name): \($0.value)" }.joined()
            for text in [command, response, exchange.urlWithUser.absoluteString] {
                found.formUnion(planted.leaks(in: text))
            }
            found.formUnion(planted.leaks(in: exchange.response.body))
        }
        // JSON and shell quoting change a few.
        #expect(found.count > planted.secrets.count * 9 / 10, "\(found.count)")
    }

    @Test func `Descriptions and dump show none`() {
        var text = ""
        for exchange in exchanges {
            let response = APIResponse(exchange.response, url: exchange.urlWithUser, redirects: [exchange.request.url])
            let error = APIError(
                .http,
                reason: nil,
                response: response,
                underlying: TransportError(
                    .badResponse,
                    "x",
                    underlying: NSError(domain: "\(planted.secrets[0])", code: 1)
                )
            )
            var request = exchange.request
            text += printed(request) + printed(exchange.response) + printed(response) + printed(error)
            request.url = exchange.urlWithUser
            text +=
                printed(request) + printed(request.headers) + printed(request.body) + printed(exchange.response.headers)
            text += events(of: exchange).map(printed).joined()
        }
        expectNoLeak("descriptions", text)
    }

    @Test func `cURL shows none`() throws {
        let commands = try planted.exchanges.map { try $0.request.curlCommand() }
        #expect(commands.allSatisfy { $0.contains("--url") })
        expectNoLeak("cURL", commands.joined(separator: "\n"))
    }

    @Test(arguments: [APIEvent.Level.endings, .exchanges, .everything])
    func `The log shows none, on no level`(_ level: APIEvent.Level) {
        let text = Lock("")
        let log = APILog(level, showing: [.queries, .headers, .bodies]) { line in text.withLock { $0 += line + "\n" } }
        for exchange in exchanges {
            for event in events(of: exchange) { log.observe(event) }
        }
        let all = text.withLock { $0 }
        #expect(all.contains("<redacted"))
        expectNoLeak("log", all)
    }

    @Test func `A redactor with names of the app shows the values of these names alone`() throws {
        var redactor = Redactor()
        (redactor.shownQueryNames, redactor.shownMemberNames, redactor.shownHeaderNames) = (
            ["size"], ["id"], ["X-Request-ID"]
        )
        let request = HTTPRequest(
            .post,
            URL("https://shop.test/goods?size=shown-1&page=hidden-1"),
            headers: ["Content-Type": "application/json", "X-Request-ID": "shown-2", "X-Page": "hidden-2"],
            body: .data(Data(#"{"id":"shown-3","page":"hidden-3"}"#.utf8))
        )
        try Redactor.$replacement.withValue(redactor) {
            let command = try request.curlCommand()
            for number in 1...3 {
                #expect(command.contains("shown-\(number)") && !command.contains("hidden-\(number)"), "\(command)")
            }
            for exchange in exchanges { expectNoLeak("cURL", try exchange.request.curlCommand()) }
        }
    }

    private func events(of exchange: PlantedSecrets.Exchange) -> [APIEvent] {
        let response = APIResponse(exchange.response, url: exchange.urlWithUser)
        let error = APIError(.http, code: 7, response: response)
        let id = RequestID.next()
        let kinds: [APIEvent.Kind] = [
            .began, .requestMade(exchange.request), .headReceived(status: 200, headers: exchange.response.headers),
            .redirected(exchange.response), .responded(response), .failed(error), .ended(.failure(error)),
        ]
        let path = exchange.urlWithUser.absoluteString
        return kinds.map { APIEvent($0, id: id, method: exchange.request.method, path: path, attempt: 1) }
    }
}
