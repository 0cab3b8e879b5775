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
            ("queryString", .array(queryItems(of: exchange.url).map(Self.field))),
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
            ("statusText", .string(reasonPhrases[exchange.status] ?? "")),
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

extension HARValue {
    /// The names and values of the query in a printed URL, percent-decoded.
    private static func queryItems(of url: String) -> [PrintedField] {
        url.drop { $0 != "?" }.dropFirst().split(separator: "&").map { item in
            let name = item.prefix { $0 != "=" }
            return PrintedField(name: decode(name), value: decode(item.dropFirst(name.count + 1)))
        }
    }

    private static func decode(_ text: Substring) -> String {
        let text = text.replacing("+", with: " ")
        return text.removingPercentEncoding ?? String(text)
    }
}

extension String {
    /// This text as a URI: what RFC 3986 does not allow in one is percent-encoded, for example in a placeholder.
    var asURI: String {
        let scheme = prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
        let hasScheme = scheme.first?.isLetter == true && self[scheme.endIndex...].hasPrefix(":")
        var (text, rest) = (hasScheme ? "" : "redacted:", utf8[...])
        var isInAuthority = hasScheme
        // After "scheme://", brackets are those of an IPv6 address up to the next slash.
        let authority = hasScheme ? scheme.utf8.count + 3 : 0
        while let byte = rest.popFirst() {
            let position = utf8.count - rest.count
            if position > authority, byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") { isInAuthority = false }
            let isEscape = byte == UInt8(ascii: "%") && rest.hexPair != nil
            let isBracket = byte == UInt8(ascii: "[") || byte == UInt8(ascii: "]")
            // RFC 3986 allows them outside of an address; `%` only in an escape.
            let isAllowed = byte.isUnreserved || byte.isSubDelimiter || ":/?@".utf8.contains(byte)
            if isEscape || isBracket && isInAuthority || isAllowed {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += String(decoding: PercentEncoding.triplet(byte), as: UTF8.self)
            }
        }
        return text
    }
}

extension HARValue {
    /// Those of the registered status codes (RFC 9110 section 15 and the IANA registry).
    ///
    /// The one that was received is not kept; HTTP/2 has none.
    private static let reasonPhrases = [
        200: "OK", 201: "Created", 202: "Accepted", 203: "Non-Authoritative Information", 204: "No Content",
        205: "Reset Content", 206: "Partial Content", 207: "Multi-Status", 208: "Already Reported", 226: "IM Used",
        300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
        305: "Use Proxy", 307: "Temporary Redirect", 308: "Permanent Redirect",
        400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found",
        405: "Method Not Allowed", 406: "Not Acceptable", 407: "Proxy Authentication Required", 408: "Request Timeout",
        409: "Conflict", 410: "Gone", 411: "Length Required", 412: "Precondition Failed", 413: "Content Too Large",
        414: "URI Too Long", 415: "Unsupported Media Type", 416: "Range Not Satisfiable", 417: "Expectation Failed",
        421: "Misdirected Request", 422: "Unprocessable Content", 423: "Locked", 424: "Failed Dependency",
        425: "Too Early", 426: "Upgrade Required", 428: "Precondition Required", 429: "Too Many Requests",
        431: "Request Header Fields Too Large", 451: "Unavailable For Legal Reasons",
        500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
        504: "Gateway Timeout", 505: "HTTP Version Not Supported", 506: "Variant Also Negotiates",
        507: "Insufficient Storage", 508: "Loop Detected", 511: "Network Authentication Required",
    ]
}

extension HARValue {
    /// The cookies of all `Cookie` lines.
    static func sentCookies(_ headers: HTTPHeaders, _ printer: Printer) -> [HARValue] {
        let pairs = headers.values("Cookie").flatMap { $0.split(separator: ";") }
        return pairs.filter { !$0.allSatisfy(\.isWhitespace) }.map { .object(Self.pair($0, printer)) }
    }

    /// The cookies of all `Set-Cookie` lines, with their attributes (RFC 6265bis section 4.1).
    ///
    /// - Parameters:
    ///   - headers: The headers of the response.
    ///   - printer: Prints the values.
    ///   - date: The time to which `Max-Age` refers.
    /// - Returns: The cookies in the order of their lines.
    static func receivedCookies(_ headers: HTTPHeaders, _ printer: Printer, at date: Date) -> [HARValue] {
        headers.values("Set-Cookie").map { line in
            let parts = line.split(separator: ";", omittingEmptySubsequences: false)
            var members = pair(parts.first ?? "", printer)
            var attributes: [String: String] = [:]
            for part in parts.dropFirst() {
                let (name, value) = halves(part)
                attributes[name?.lowercased() ?? value.lowercased()] = name == nil ? "" : value
            }
            let seconds = attributes["max-age"].flatMap(Int32.init).map { date + Double($0) }
            let expires = seconds ?? attributes["expires"].flatMap { CookieDate.parse(Array($0.utf8)) }
            members += [
                ("path", attributes["path"].map { .string(printer.attribute($0)) }),
                ("domain", attributes["domain"].map { .string(printer.attribute($0)) }),
                ("expires", expires.map { .string(timestamp($0)) }),
                ("httpOnly", .bool(attributes["httponly"] != nil)),
                ("secure", .bool(attributes["secure"] != nil)),
            ]
            return .object(members)
        }
    }

    private static func pair(_ text: Substring, _ printer: Printer) -> [(name: String, value: HARValue?)] {
        let (name, value) = halves(text)
        return [("name", .string(name.map(printer.cookieName) ?? "")), ("value", .string(printer.cookieValue(value)))]
    }

    /// A pair without `=` is a value without a name.
    private static func halves(_ text: Substring) -> (name: String?, value: String) {
        guard let equals = text.firstIndex(of: "=") else { return (nil, text.trimmingCharacters(in: .whitespaces)) }
        let name = text[..<equals].trimmingCharacters(in: .whitespaces)
        return (name, text[text.index(after: equals)...].trimmingCharacters(in: .whitespaces))
    }
}
