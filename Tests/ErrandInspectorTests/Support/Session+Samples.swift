import ErrandInspector
import Foundation

@testable import Errand

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
