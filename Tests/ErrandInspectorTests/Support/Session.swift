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
