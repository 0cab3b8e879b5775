import ErrandInspector
import Foundation

@testable import Errand

/// Sends a recorder the events of loads, at times that a test chooses.
final class Session {
    let recorder: HARRecorder
    private let start = SystemClock().uptime
    private var exchange: UInt64 = 0

    init(_ recorder: HARRecorder = HARRecorder()) {
        self.recorder = recorder
    }

    /// Sends one event, this many milliseconds after the beginning of the session.
    func send(
        _ kind: APIEvent.Kind,
        load: UInt64 = 1,
        attempt: Int = 1,
        exchange: UInt64? = nil,
        method: HTTPMethod = .get,
        path: String = "/",
        at milliseconds: Int = 0,
        queue: Int? = nil
    ) {
        let uptime = start + .milliseconds(milliseconds)
        recorder.observe(
            APIEvent(
                kind,
                of: APIEvent.Common(id: RequestID(rawValue: load), method: method, path: path, began: start),
                attempt: attempt,
                exchange: exchange,
                uptime: uptime,
                queue: queue.map { .milliseconds($0) }
            )
        )
    }

    /// Sends the events of an exchange with a response, and returns the number of the exchange.
    @discardableResult
    func respond(
        _ request: HTTPRequest,
        _ response: HTTPResponse,
        load: UInt64 = 1,
        attempt: Int = 1,
        at milliseconds: Int = 0,
        taking time: Int = 12,
        queue: Int? = nil
    ) -> UInt64 {
        let number = begin(request, load: load, attempt: attempt, at: milliseconds, queue: queue)
        send(.sent, load: load, attempt: attempt, exchange: number, at: milliseconds + 1)
        send(
            .headReceived(status: response.status, headers: response.headers),
            load: load,
            attempt: attempt,
            exchange: number,
            at: milliseconds + time - 1
        )
        let responded = APIEvent.Kind.responded(APIResponse(response, to: RequestID(rawValue: load), url: request.url))
        send(responded, load: load, attempt: attempt, exchange: number, at: milliseconds + time)
        return number
    }

    /// Sends the events of an exchange that has begun, and returns the number of the exchange.
    @discardableResult
    func begin(
        _ request: HTTPRequest,
        load: UInt64 = 1,
        attempt: Int = 1,
        at milliseconds: Int = 0,
        queue: Int? = nil
    ) -> UInt64 {
        exchange += 1
        send(
            .requestMade(request),
            load: load,
            attempt: attempt,
            exchange: exchange,
            method: request.method,
            at: milliseconds,
            queue: queue
        )
        return exchange
    }
}

extension URL {
    /// A URL of the shop that tests load from.
    static func shop(_ path: String) -> URL {
        guard let url = URL(string: "https://api.shop.example" + path) else { fatalError("no URL: \(path)") }
        return url
    }
}

extension ExchangeTimings {
    /// Timings of a new connection in whole milliseconds.
    static func sample(at date: Date = Date(timeIntervalSince1970: 1_800_000_000)) -> ExchangeTimings {
        var timings = ExchangeTimings(startedAt: date, total: .milliseconds(100))
        timings.queue = .milliseconds(4)
        timings.nameLookup = .milliseconds(5)
        timings.connect = .milliseconds(10)
        timings.tls = .milliseconds(20)
        timings.request = .milliseconds(1)
        timings.firstByte = .milliseconds(50)
        timings.body = .milliseconds(8)
        (timings.sentHeaderBytes, timings.sentBodyBytes) = (210, 0)
        (timings.receivedHeaderBytes, timings.receivedBodyBytes, timings.decodedBodyBytes) = (160, 40, 33)
        (timings.protocolName, timings.remoteAddress, timings.remotePort) = ("h2", "192.0.2.7", 443)
        (timings.connectionID, timings.isReused) = ("3", false)
        return timings
    }
}

extension Session {
    /// Sends the events of a visit to a shop, with everything that a report shows.
    func visitShop() {
        let connection = timings(at: 0, connect: true, wait: 46, body: 3)
        respond("POST", "/account/login", 200, [:], #"{"errcode":200,"msg":"ok","data":{"name":"Lin"}}"#, 1, connection)
        respond("POST", "/mall/shopList?category=7&page=1", 200, [:], goods, 2, timings(at: 90, wait: 31, body: 9))
        respond(
            "GET",
            "/orders?page=1&pageSize=20",
            503,
            ["Retry-After": "1"],
            "busy",
            3,
            timings(at: 96, wait: 12, body: 1)
        )
        send(.waiting(.retry, limit: .seconds(1)), load: 3)
        respond(
            "GET",
            "/orders?page=1&pageSize=20",
            200,
            [:],
            goods,
            3,
            timings(at: 141, wait: 22, body: 14),
            attempt: 2
        )
        redirect()
        respond("GET", "/profile", 401, [:], #"{"errcode":11010}"#, 5, timings(at: 250, wait: 8, body: 1))
        respond("POST", "/account/login", 200, [:], #"{"errcode":200}"#, 6, timings(at: 262, wait: 30, body: 1))
        send(.renewed(.login), load: 5)
        respond("GET", "/profile", 200, [:], #"{"name":"Lin"}"#, 5, timings(at: 296, wait: 9, body: 1), attempt: 2)
        respond("PUT", "/avatar", 200, ["Content-Type": "image/png"], "\u{89}PNG", 7, upload)
        respond("GET", "/cart", 200, [:], "{}", 8, timings(at: 340, wait: 9, body: 1))
        send(.ended(.failure(APIError(.decoding, reason: "no items"))), load: 8)
        failAndCancel()
    }

    private var goods: String {
        #"{"errcode":200,"data":[{"id":1,"name":"Pen","price":1.5},{"id":2,"name":"Ink","price":7}]}"#
    }

    private var upload: ExchangeTimings {
        var timings = timings(at: 310, wait: 14, body: 1)
        timings.request = .milliseconds(38)
        timings.total += .milliseconds(37)
        timings.sentBodyBytes = 48_213
        return timings
    }

    private func redirect() {
        let request = HTTPRequest(.get, .shop("/invoice/7"))
        let number = begin(request, load: 4)
        var moved = HTTPResponse(status: 302, headers: ["Location": "https://files.shop.example/invoice-7.pdf"])
        moved.timings = timings(at: 200, wait: 6, body: 0)
        send(.redirected(moved), load: 4, exchange: number)
        guard let url = URL(string: "https://files.shop.example/invoice-7.pdf") else { return }
        let next = begin(HTTPRequest(.get, url), load: 4)
        var file = HTTPResponse(status: 200, headers: ["Content-Type": "application/pdf"], file: URL(filePath: "/x"))
        file.timings = timings(at: 207, connect: true, wait: 20, body: 40)
        file.timings?.receivedBodyBytes = 1_204_331
        send(.responded(APIResponse(file, url: url)), load: 4, exchange: next)
    }

    private func failAndCancel() {
        var cause = TransportError(.timeout, "no byte for 0.2 s")
        cause.timings = timings(at: 420, wait: 0, body: 0)
        cause.timings?.total = .milliseconds(200)
        cause.timings?.firstByte = nil
        cause.timings?.body = nil
        let slow = begin(HTTPRequest(.get, .shop("/slow")), load: 9)
        send(.failed(APIError(.timeout, reason: cause.reason, underlying: cause)), load: 9, exchange: slow)
        respond("GET", "/broken", 500, [:], "<h1>Internal error</h1>", 10, timings(at: 640, wait: 18, body: 1))
        let cancelled = begin(HTTPRequest(.get, .shop("/search?text=pen")), load: 11, at: 670)
        send(.joined, load: 12, exchange: cancelled, at: 671)
        for load in [11, 12] as [UInt64] { send(.ended(.cancelled), load: load, at: 700) }
        send(.began, load: 13, attempt: 0)
        let refusal = APIError(.invalidRequest, reason: "the validator refused the parameters")
        send(.ended(.failure(refusal)), load: 13, attempt: 0, method: .put, path: "/orders/{id}", at: 720)
    }

    private func timings(at milliseconds: Int, connect: Bool = false, wait: Int, body: Int) -> ExchangeTimings {
        let began = Date() + Double(milliseconds) / 1_000
        var timings = ExchangeTimings(startedAt: began, total: .milliseconds((connect ? 35 : 0) + 1 + wait + body))
        timings.queue = .microseconds(420)
        if connect {
            timings.nameLookup = .milliseconds(4)
            timings.connect = .milliseconds(11)
            timings.tls = .milliseconds(20)
        }
        (timings.request, timings.firstByte) = (.milliseconds(1), .milliseconds(wait))
        timings.body = .milliseconds(body)
        (timings.sentHeaderBytes, timings.sentBodyBytes) = (318, 0)
        (timings.receivedHeaderBytes, timings.receivedBodyBytes) = (204, 96)
        (timings.protocolName, timings.remoteAddress, timings.remotePort) = ("http/1.1", "192.0.2.7", 443)
        (timings.connectionID, timings.isReused) = ("1", !connect)
        return timings
    }

    private func respond(
        _ method: String,
        _ path: String,
        _ status: Int,
        _ headers: HTTPHeaders,
        _ body: String,
        _ load: UInt64,
        _ timings: ExchangeTimings,
        attempt: Int = 1
    ) {
        let sent: HTTPHeaders = [
            "Accept": "application/json", "Authorization": "Bearer planted-secret", "User-Agent": "Shop/1.0",
        ]
        var request = HTTPRequest(HTTPMethod(rawValue: method), .shop(path), headers: sent)
        if method != "GET" { request.body = .data(Data(#"{"account":"lin","password":"planted-secret"}"#.utf8)) }
        let content: HTTPHeaders = ["Content-Type": "application/json; charset=utf-8", "Server": "shop"]
        var response = HTTPResponse(status: status, headers: content.merging(headers), body: Data(body.utf8))
        response.timings = timings
        let number = begin(request, load: load, attempt: attempt)
        let responded = APIEvent.Kind.responded(APIResponse(response, url: request.url))
        send(responded, load: load, attempt: attempt, exchange: number)
    }
}

/// Strings that break programs which insert them without care.
enum HostileStrings {
    static let own = [
        "</script><script>document.hacked=1</script>", "<img src=x onerror=document.hacked=1>",
        "\"><svg onload=document.hacked=1>", "' autofocus onfocus='document.hacked=1", "--><script>document.hacked=1//",
        "]]><script>document.hacked=1</script>", "</title></style></pre><script>document.hacked=1</script>",
        "line\u{2028}paragraph\u{2029}end", "\u{1B}[31mred\u{1B}]0;title\u{07}", "a\u{0}b\u{7F}\u{85}c",
        "\u{202E}reversed",
        "javascript:document.hacked=1", "&lt;b&gt;&amp;&#0;", "${document.hacked=1}`", "\\u003cscript\\u003e",
        "\r\n\r\n",
        "\u{FEFF}\u{FFFE}\u{10FFFF}", "😀👩‍👩‍👧‍👦é",
    ]
}

extension Session {
    /// Sends an exchange for each of these strings, with the string in every place.
    func respond(withEach strings: [String]) {
        for (index, text) in strings.enumerated() {
            let query = text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            // A header from the wire may contain any bytes.
            let headers = HTTPHeaders([
                HTTPField("Content-Type", bytes: Array(text.utf8)), HTTPField(text, "value"),
                HTTPField("Server", text), HTTPField("Set-Cookie", "\(text)=\(text); Path=\(text); Expires=\(text)"),
                HTTPField("Location", text), HTTPField("Cookie", text),
            ])
            let url = URL.shop("/\(query)?\(query)=\(query)")
            let method = HTTPMethod(rawValue: text)
            let request = HTTPRequest(method, url, headers: headers, body: .data(Data(text.utf8)))
            var response = HTTPResponse(status: 300, headers: headers, body: Data(text.utf8))
            var timings = ExchangeTimings(startedAt: Date(), total: .milliseconds(index))
            (timings.protocolName, timings.connectionID) = (text, text)
            response.timings = timings
            let load = UInt64(index + 1)
            respond(request, response, load: load, at: index)
            send(.ended(.failure(APIError(.invalidResponse, reason: text))), load: load, at: index + 1)
        }
    }
}
