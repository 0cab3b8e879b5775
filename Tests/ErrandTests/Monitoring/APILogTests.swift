import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@Suite("The log", .hangLimit, .timeLimit(.minutes(10)))
struct APILogTests {
    private final class Lines: Sendable {
        private let lines = Lock<[String]>([])
        var all: [String] { lines.withLock { $0 } }
        func append(_ line: String) { lines.withLock { $0.append(line) } }
    }

    private static let id = RequestID(rawValue: 7)
    private static let start = ContinuousClock.now
    private let lines = Lines()
    private static let url = URL("https://me:s3cret@shop.test/api/goods/7?page=2&token=s3cret")

    private func log(_ level: APIEvent.Level = .endings, showing details: APILog.Details = []) -> APILog {
        APILog(level, showing: details) { [lines] in lines.append($0) }
    }

    private func event(
        _ kind: APIEvent.Kind,
        attempt: Int = 1,
        after time: Duration = .zero,
        response: APIResponse? = nil
    ) -> APIEvent {
        APIEvent(
            kind,
            id: Self.id,
            method: .get,
            path: "/goods/{id}",
            attempt: attempt,
            time: Self.start.advanced(by: time),
            elapsed: time,
            response: response
        )
    }

    private func response(_ status: Int = 200, bytes: Int = 2_130, headers: HTTPHeaders = [:]) -> APIResponse {
        let body = Data(repeating: UInt8(ascii: "x"), count: bytes)
        return APIResponse(HTTPResponse(status: status, headers: headers, body: body), url: Self.url)
    }

    private func observe(_ log: APILog, _ kinds: [APIEvent.Kind], attempt: Int = 1, lasting time: Duration) -> [String]
    {
        if log.observedLevel == .everything { log.observe(event(.began, attempt: 0)) }
        var response: APIResponse?
        for (index, kind) in kinds.enumerated() {
            switch kind {
            case .responded(let new), .respondedFromCache(let new): response = new
            case .tryingAgain: response = nil
            default: break
            }
            let isLast = index == kinds.count - 1
            let event = event(kind, attempt: attempt, after: isLast ? time : .zero, response: isLast ? response : nil)
            if log.observedLevel >= kind.level { log.observe(event) }
        }
        return lines.all
    }

    @Test func `A success is one line`() {
        let response = response().withStatement(ServerFailure(code: 200, message: "s3cret"))
        let lines = observe(
            log(),
            [.queued, .started, .responded(response), .ended(.success)],
            lasting: .microseconds(12_345)
        )
        #expect(lines == ["GET /goods/{id} 200 code 200 | 12.3 ms | 2.1 KB | 1 try"])
    }

    @Test func `A failure is one line with the type and the reason`() {
        let response = response(500, bytes: 54)
        let error = APIError(.server, reason: "no\nluck", code: 5001, response: response)
        let lines = observe(log(), [.responded(response), .ended(.failure(error))], attempt: 2, lasting: .seconds(60))
        #expect(lines == ["GET /goods/{id} 500 failed: server, code 5001, no\\nluck | 60.0 s | 54 B | 2 tries"])
    }

    @Test func `A cancelled load and a response from the cache are shown as such`() {
        #expect(
            observe(log(), [.ended(.cancelled)], attempt: 0, lasting: .zero) == ["GET /goods/{id} cancelled | 0.0 ms"]
        )
        let stored = response().from(.cache, age: .seconds(1))
        let cached = observe(log(), [.respondedFromCache(stored), .ended(.success)], attempt: 0, lasting: .zero)
        #expect(cached.last == "GET /goods/{id} 200 | 0.0 ms | 2.1 KB | from the cache")
    }

    @Test func `A load that has shown a stored response ends with that of the network`() {
        let stored = response().from(.cache, age: .seconds(1))
        let lines = observe(
            log(),
            [.respondedFromCache(stored), .responded(response()), .ended(.success)],
            lasting: .zero
        )
        #expect(lines.last == "GET /goods/{id} 200 | 0.0 ms | 2.1 KB | 1 try")
    }

    #if os(Linux)
    @Test(arguments: [APIEvent.Level.endings, .exchanges, .everything])
    func `A level observes no more events than it shows`(_ level: APIEvent.Level) {
        #expect(log(level).observedLevel == level)
    }
    #endif

    @Test func `The response of the try before is not shown as that of a failure without a response`() {
        let kinds: [APIEvent.Kind] = [
            .responded(response(503)), .tryingAgain, .ended(.failure(APIError(.timeout, reason: "slow"))),
        ]
        let lines = observe(log(), kinds, attempt: 2, lasting: .zero)
        #expect(lines == ["GET /goods/{id} failed: timeout, slow | 0.0 ms | 2 tries"])
    }

    @Test func `The loads of a proxy are logged`() async throws {
        let transport = ScriptedTransport { request in
            HTTPResponse(status: request.url.path.hasSuffix("no") ? 404 : 200, body: Data("ok".utf8))
        }
        let proxy = APIProxy(service: .sample(), transport: transport)
        proxy.monitors = [log()]
        _ = try await proxy.send(HTTPRequest(.get, URL("http://shop.test/yes?token=s3cret")))
        _ = try await proxy.send(HTTPRequest(.put, URL("http://shop.test/no")))
        await suspend(while: lines.all.count < 2)
        let shown = lines.all.map { $0.replacing(/\d+\.\d m?s/, with: "t") }
        #expect(
            shown == [
                "GET http://shop.test/yes 200 | t | 2 B | 1 try", "PUT http://shop.test/no 404 | t | 2 B | 1 try",
            ]
        )
    }

    @Test func `Exchanges are logged with the ID of their load`() {
        let request = HTTPRequest(.get, Self.url, headers: ["X-A": "s3cret"], body: .data(Data("s3cret".utf8)))
        let error = APIError(.timeout, reason: "slow")
        let kinds: [APIEvent.Kind] = [
            .queued, .requestMade(request), .redirected(HTTPResponse(status: 302)), .sent, .failed(error), .tryingAgain,
            .responded(response()), .ended(.success),
        ]
        let lines = observe(log(.exchanges), kinds, lasting: .zero)
        #expect(
            lines == [
                "#7 GET https://shop.test/api/goods/7 | try 1", "#7 redirected 302", "#7 no response: timeout, slow",
                "#7 responded 200 | 0.0 ms | 2.1 KB", "#7 GET /goods/{id} 200 | 0.0 ms | 2.1 KB | 1 try",
            ]
        )
    }

    @Test func `Everything is every event`() {
        let kinds: [APIEvent.Kind] = [
            .queued, .started, .joined, .requestMade(HTTPRequest(.get, Self.url)), .sent,
            .headReceived(status: 200, headers: [:]), .responded(response()), .renewed(.login),
            .waiting(.retry, limit: .seconds(3)), .tryingAgain, .ended(.cancelled), .released,
        ]
        let lines = observe(log(.everything), kinds, lasting: .zero)
        #expect(lines.count == kinds.count + 1)
        #expect(lines.first == "#7 GET /goods/{id} began")
        #expect(lines.contains("#7 GET /goods/{id} waits: retry, at most 3000.0 ms"))
        #expect(lines.allSatisfy { $0.hasPrefix("#7 ") && !$0.contains("\n") })
    }

    @Test func `Queries, headers and bodies are shown when asked for, redacted`() {
        var redactor = Redactor()
        redactor.shownQueryNames = ["page"]
        redactor.shownMemberNames = ["category"]
        var request = HTTPRequest(.post, Self.url, headers: ["X-Key": "s3cret", "Content-Type": "application/json"])
        request.body = .data(Data(#"{"category":7,"pin":"s3cret"}"#.utf8))
        let log = log(.exchanges, showing: [.queries, .headers, .bodies])
        let kinds: [APIEvent.Kind] = [.requestMade(request), .responded(response(headers: ["ETag": "s3cret"]))]
        _ = Redactor.$replacement.withValue(redactor) { observe(log, kinds, lasting: .zero) }
        #expect(
            lines.all == [
                """
                #7 POST https://shop.test/api/goods/7?page=2&token=<redacted 6 bytes> | try 1
                    X-Key: <redacted 6 bytes>
                    Content-Type: application/json
                    {"category":7,"pin":"<redacted 6 bytes>"}
                """,
                """
                #7 responded 200 | 0.0 ms | 2.1 KB
                    ETag: <redacted 6 bytes>
                    <redacted 2130 bytes>
                """,
            ]
        )
    }

    @Test func `Details of the response are shown with the ending as well`() {
        let lines = observe(
            log(showing: [.queries, .bodies]),
            [.responded(response()), .ended(.success)],
            lasting: .zero
        )
        let url = "https://shop.test/api/goods/7?page=<redacted 1 bytes>&token=<redacted 6 bytes>"
        #expect(lines == ["GET \(url) 200 | 0.0 ms | 2.1 KB | 1 try\n    <redacted 2130 bytes>"])
    }

    @Test(arguments: ["a\r\nGET /forged 200", "\u{1B}[2J", "\u{202E}", "\u{9B}31m", "\u{2028}x", "\0"])
    func `Control characters cannot forge a line or control a terminal`(_ text: String) {
        let error = APIError(.transport, reason: text)
        var redactor = Redactor()
        (redactor.shownHeaderNames, redactor.shownMemberNames) = (["X-A"], ["a"])
        let log = log(.everything, showing: [.queries, .headers, .bodies])
        let body = (try? JSONEncoder().encode(["a": text])) ?? Data()
        let headers: HTTPHeaders = ["X-A": text, "Content-Type": "application/json", text: "x"]
        let response = APIResponse(HTTPResponse(status: 200, headers: headers, body: body), url: Self.url)
        let method = HTTPMethod(rawValue: text)
        for kind in [APIEvent.Kind.responded(response), .failed(error), .ended(.failure(error))] {
            Redactor.$replacement.withValue(redactor) {
                log.observe(APIEvent(kind, id: Self.id, method: method, path: text))
            }
        }
        #expect(lines.all.count == 3)
        for line in lines.all.flatMap({ $0.replacing("\n    ", with: "").unicodeScalars }) {
            #expect(line.isShownAsItself, "\(line.escaped(asASCII: true))")
        }
    }
}
