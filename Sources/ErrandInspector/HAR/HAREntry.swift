import Errand
import Foundation

extension HARValue {
    /// An entry; fields that are not those of HAR begin with `_`, as HAR requires.
    init(_ exchange: PrintedExchange, _ printer: Printer) {
        let recorded = exchange.recorded
        let connection = recorded.timings?.connectionID ?? recorded.timings?.remotePort.map { "\($0)" }
        let isCut = [recorded.request?.body, recorded.response?.body].contains { $0?.isCut == true }
        self = .object([
            ("startedDateTime", .string(Self.timestamp(exchange.start))),
            ("time", .milliseconds(exchange.phases.total)),
            ("request", Self.request(exchange, printer)),
            ("response", Self.response(exchange, printer)),
            ("cache", .object([])),
            ("timings", HARValue(exchange.phases)),
            ("serverIPAddress", exchange.address.map { .string($0) }),
            ("connection", connection.map { .string($0) }),
            ("_load", recorded.loads.first.map { .int(Int64(clamping: $0.rawValue)) }),
            (
                "_loads",
                recorded.loads.count > 1 ? .array(recorded.loads.map { .int(Int64(clamping: $0.rawValue)) }) : nil
            ),
            ("_attempt", .int(Int64(recorded.attempt))),
            ("_cause", exchange.cause.map { .string($0) }),
            ("_state", .string("\(recorded.state)")),
            // HAR has no entry without a response. As in Chrome's archives, what was not sent has the status 0, all of its time
            // in `blocked`, and the reason here: readers show it as failed.
            ("_error", exchange.error.map { .string($0) }),
            // As Chrome's developer tools write and read it.
            ("_fromCache", recorded.state == .cached ? "disk" : nil),
            // In seconds.
            ("_cacheAge", recorded.response?.age.map { .int($0.components.seconds) }),
            ("_resourceType", "fetch"),
            ("_truncated", isCut ? .bool(true) : nil),
        ])
    }

    /// ISO 8601 in UTC with milliseconds.
    private static func timestamp(_ date: Date) -> String {
        date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    private static func request(_ exchange: PrintedExchange, _ printer: Printer) -> HARValue {
        let request = exchange.recorded.request
        let timings = exchange.recorded.timings
        let length = request?.body == nil ? 0 : exchange.status > 0 ? request?.body?.length : nil
        return .object([
            ("method", .string(exchange.method)),
            ("url", .string(exchange.url.asURI)),
            ("httpVersion", .string(exchange.httpVersion ?? "unknown")),
            ("cookies", .array(Self.sentCookies(request?.headers ?? [:], printer))),
            ("headers", .array(exchange.requestHeaders.map(Self.field))),
            ("queryString", .array(QueryItems(ofURL: exchange.url).items.map(Self.field))),
            ("postData", exchange.requestBody.map { postData($0, request?.headers["Content-Type"], printer) }),
            ("headersSize", .int(timings?.sentHeaderBytes ?? -1)),
            ("bodySize", .int(timings?.sentBodyBytes ?? length ?? -1)),
            (
                "comment",
                exchange.recorded.state == .unsent ? unsentURL : timings?.sentHeaderBytes.map { _ in unlistedHeaders }
            ),
        ])
    }

    /// HAR's `headersSize` is that of the whole head, and the lines of the transport are not known.
    private static let unlistedHeaders: HARValue =
        "headersSize also counts the lines that the transport has added, such as Host; they are not in headers."

    /// A monitor knows neither the base URL nor the query of a request that was not made.
    private static let unsentURL: HARValue =
        "Nothing was sent; the URL is the path of the load, without its query and the values of its parameters."

    private static func postData(_ body: PrintedBody, _ contentType: String?, _ printer: Printer) -> HARValue {
        .object([
            ("mimeType", .string(contentType.map { printer.value(of: "Content-Type", $0) } ?? "")),
            ("params", .array([])),
            ("text", .string(body.text ?? "")),
            // As in `content`; HAR 1.2 has no encoding of a request body.
            ("_encoding", body.isBase64 ? "base64" : nil),
            ("comment", body.comment.map { .string($0) }),
        ])
    }

    private static func response(_ exchange: PrintedExchange, _ printer: Printer) -> HARValue {
        let recorded = exchange.recorded
        let headers = (recorded.response?.head ?? recorded.head)?.headers ?? [:]
        let location = (300..<400).contains(exchange.status) ? headers["Location"] : nil
        let bodySize = recorded.state == .cached ? 0 : recorded.timings?.receivedBodyBytes ?? -1
        return .object([
            ("status", .int(Int64(exchange.status))),
            ("statusText", .string(ReasonPhrase.phrase(for: exchange.status))),
            ("httpVersion", .string(exchange.httpVersion ?? "unknown")),
            ("cookies", .array(Self.receivedCookies(headers, printer, at: exchange.start))),
            ("headers", .array(exchange.responseHeaders.map(Self.field))),
            ("content", content(exchange, headers["Content-Type"], bodySize, printer)),
            ("redirectURL", .string(location.map { printer.value(of: "Location", $0) } ?? "")),
            // Of a head that is not complete, no line is listed.
            ("headersSize", .int(exchange.status > 0 ? recorded.timings?.receivedHeaderBytes ?? -1 : -1)),
            ("bodySize", .int(bodySize)),
        ])
    }

    private static func content(
        _ exchange: PrintedExchange,
        _ contentType: String?,
        _ bodySize: Int64,
        _ printer: Printer
    ) -> HARValue {
        let size = exchange.decodedBytes
        let saved = size.flatMap { bodySize >= 0 && exchange.recorded.state != .cached ? $0 - bodySize : nil }
        return .object([
            ("size", .int(size ?? (exchange.recorded.response == nil ? 0 : -1))),
            ("compression", saved.map { .int($0) }),
            ("mimeType", .string(contentType.map { printer.value(of: "Content-Type", $0) } ?? "x-unknown")),
            ("text", exchange.responseBody?.text.map { .string($0) }),
            ("encoding", exchange.responseBody?.isBase64 == true ? "base64" : nil),
            ("comment", comment(onContentOf: exchange).map { .string($0) }),
        ])
    }

    private static func comment(onContentOf exchange: PrintedExchange) -> String? {
        guard exchange.recorded.response == nil, let size = exchange.decodedBytes, size > 0 else {
            return exchange.responseBody?.comment
        }
        return "Without the \(size) bytes that were received: the body is not complete."
    }

    private static func field(_ field: PrintedField) -> HARValue {
        .object([("name", .string(field.name)), ("value", .string(field.value))])
    }
}
