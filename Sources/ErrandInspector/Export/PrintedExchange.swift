import Errand
import Foundation

/// One exchange as it is exported.
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
        requestHeaders = request.map { printer.fields($0.headers) } ?? []
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
