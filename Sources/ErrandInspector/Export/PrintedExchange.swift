import Errand
import Foundation

struct PrintedExchange {
    let recorded: RecordedExchange
    let start: Date
    let phases: Phases
    let url: String
    let requestHeaders: [PrintedField]
    let requestBody: PrintedBody?
    let responseHeaders: [PrintedField]
    let responseBody: PrintedBody?

    init(_ recorded: RecordedExchange, _ printer: Printer, _ clock: WallClock) {
        self.recorded = recorded
        start = clock.start(of: recorded)
        phases = Phases(recorded)
        url = (recorded.request?.url ?? recorded.response?.url).map(printer.url) ?? recorded.path ?? ""
        let request = recorded.request
        // Those that are sent: the transport writes the others itself.
        let sent = request?.headers.filter { !$0.isWrittenByTransport } ?? []
        requestHeaders = printer.fields(HTTPHeaders(sent))
        requestBody = request?.body.map { printer.body($0, contentType: request?.headers["Content-Type"]) }
        let response = recorded.response
        responseHeaders = (response?.head ?? recorded.head).map { printer.fields($0.headers) } ?? []
        responseBody = response.map { printer.body($0.body, contentType: $0.head.headers["Content-Type"]) }
    }

    var method: String { (recorded.request?.method ?? recorded.method).rawValue }

    /// The status; 0 if none was received.
    var status: Int { (recorded.response?.head ?? recorded.head)?.status ?? 0 }

    /// Why the exchange, or a load with its response, has failed; `nil` if none has.
    var error: String? {
        switch recorded.state {
        case .open: "in flight"
        case .cancelled: recorded.error?.text ?? "cancelled"
        case .unsent: recorded.error?.text ?? "cancelled before it was sent"
        case .responded, .cached, .failed, .redirected: recorded.error?.text
        }
    }

    /// What the load has waited for before this exchange.
    var cause: String? { recorded.cause.map { "\($0)" } }

    /// The protocol as HTTP writes it; `nil` if it is not known.
    var httpVersion: String? {
        guard let name = recorded.timings?.protocolName else { return nil }
        return switch name {
        case "h2", "h2c": "HTTP/2"
        case "h3": "HTTP/3"
        default: name.uppercased()
        }
    }

    /// The address of the server, without the zone of IPv6; `nil` if it is not known.
    var address: String? { recorded.timings?.remoteAddress.map { String($0.prefix { $0 != "%" }) } }

    /// The bytes of the decoded body of the response; `nil` if they are not known.
    var decodedBytes: Int64? {
        guard let response = recorded.response else { return recorded.timings?.decodedBodyBytes }
        return response.body.length ?? response.timings?.decodedBodyBytes
    }
}

/// The phases of an exchange in whole microseconds, as an archive has them: `nil` where one does not apply.
struct Phases {
    /// The time in the queue of the proxy, and of the transport; of an unsent load all of its time.
    private(set) var blocked: Int64?
    private(set) var dns: Int64?
    /// The TCP connection, without TLS.
    private(set) var connect: Int64?
    private(set) var tls: Int64?
    private(set) var send: Int64 = 0
    private(set) var wait: Int64 = 0
    private(set) var receive: Int64 = 0

    init(_ exchange: RecordedExchange) {
        blocked = exchange.queue?.microseconds
        if let timings = exchange.timings { measure(timings) } else { estimate(exchange) }
    }

    var total: Int64 { all.reduce(0) { $0 + ($1.microseconds ?? 0) } }

    var all: [(name: String, microseconds: Int64?)] {
        [
            ("Queue", blocked), ("DNS", dns), ("Connect", connect), ("TLS", tls), ("Send", send), ("Wait", wait),
            ("Receive", receive),
        ]
    }

    private mutating func measure(_ timings: ExchangeTimings) {
        dns = timings.nameLookup?.microseconds
        connect = timings.connect?.microseconds
        tls = timings.tls?.microseconds
        send = timings.request?.microseconds ?? 0
        wait = timings.firstByte?.microseconds ?? 0
        receive = timings.body?.microseconds ?? 0
        let rest = max(timings.total.microseconds - (total - (blocked ?? 0)), 0)
        // What is not measured is time in the phase in which the exchange has ended, or of a complete one before the first.
        if timings.firstByte == nil {
            wait += rest
        } else if timings.body == nil {
            receive += rest
        } else if rest > 0 {
            blocked = (blocked ?? 0) + rest
        }
    }

    /// From the times of the events, without those of a transport.
    private mutating func estimate(_ exchange: RecordedExchange) {
        let end = exchange.endedAt ?? max(exchange.headAt ?? exchange.madeAt, exchange.sentAt ?? exchange.madeAt)
        let sent = min(exchange.sentAt ?? exchange.madeAt, end)
        let head = min(max(exchange.headAt ?? end, sent), end)
        send = (sent - exchange.madeAt).microseconds
        wait = (head - sent).microseconds
        receive = (end - head).microseconds
    }
}

extension HARValue {
    /// The `timings` of an entry; its `connect` contains TLS.
    init(_ phases: Phases) {
        func optional(_ phase: Int64?) -> HARValue { phase.map { .milliseconds($0) } ?? .int(-1) }
        let connect = phases.connect == nil && phases.tls == nil ? nil : (phases.connect ?? 0) + (phases.tls ?? 0)
        self = .object([
            ("blocked", optional(phases.blocked)), ("dns", optional(phases.dns)), ("connect", optional(connect)),
            ("ssl", optional(phases.tls)), ("send", .milliseconds(phases.send)), ("wait", .milliseconds(phases.wait)),
            ("receive", .milliseconds(phases.receive)),
        ])
    }
}
