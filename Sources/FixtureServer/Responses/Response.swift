import Foundation

/// The response to one request: a response head and steps that the loop plays in order.
package struct Response: Sendable {
    /// One step of a response.
    ///
    /// Every step other than ``write(_:)`` begins after the kernel has taken the bytes before it.
    package enum Step: Sendable {
        /// Sends these bytes.
        case write([UInt8])
        /// Sends these bytes of a source, and holds at most 256 KiB of them in memory.
        case stream(ByteSource, Range<Int64>)
        /// Sends these bytes again and again, with a pause in between, and no faster than the client reads.
        case repeatForever([UInt8], every: Duration)
        /// Waits for this long.
        case wait(Duration)
        /// Waits until the test opens this gate.
        case pass(Gate)
        /// Opens a gate that the test waits for.
        case open(Gate)
        /// Sends nothing more and leaves the connection open.
        case hang
        /// Ends the connection with FIN.
        case close
        /// Ends the connection with RST.
        case reset

        /// Sends this text.
        package static func write(_ text: String) -> Step { .write(Array(text.utf8)) }
    }

    /// The steps, including the response head.
    package private(set) var steps: [Step]
    /// The index of the step that writes the response head; `nil` in a response of raw steps.
    private(set) var headIndex: Int?
    /// The status of the response head; `nil` in a response of raw steps.
    package private(set) var status: Int?

    /// Creates a response of raw steps, which are played unchanged for every request.
    package init(steps: [Step]) {
        self.steps = steps
    }

    /// Creates a response whose head has only these lines, and whose steps write nothing for `HEAD`.
    package init(status: Int, headers: HeaderLines = [:], steps: [Step]) {
        var head = Array("HTTP/1.1 \(status) \(Self.reasonPhrases[status] ?? "Status")\r\n".utf8)
        for line in headers { head += line.name.utf8 + [.colon, .space] + line.bytes + [.carriageReturn, .lineFeed] }
        head += [.carriageReturn, .lineFeed]
        self.steps = [.write(head)] + steps
        self.status = status
        headIndex = 0
    }

    /// Returns this response with one more header line; a response of raw steps does not change.
    package func adding(_ name: String, _ value: String) -> Response {
        guard let headIndex, case .write(var head) = steps[headIndex] else { return self }
        head.insert(contentsOf: "\(name): \(value)\r\n".utf8, at: head.count - 2)
        var copy = self
        copy.steps[headIndex] = .write(head)
        return copy
    }

    /// Returns this response with `Connection: close`; the connection ends after it.
    package func closing() -> Response {
        adding("Connection", "close").followed(by: .close)
    }

    /// Returns this response with more steps at its end.
    package func followed(by steps: Step...) -> Response {
        var copy = self
        copy.steps += steps
        return copy
    }

    /// Returns this response with each step after the response head replaced by others.
    func replacingSteps(_ replacement: (Step) -> [Step]) -> Response {
        var copy = self
        let body = (headIndex ?? -1) + 1
        copy.steps = steps[..<body] + steps[body...].flatMap(replacement)
        return copy
    }

    /// Returns this response with more steps before the first byte of the head.
    package func preceded(by steps: Step...) -> Response {
        var copy = self
        copy.steps = steps + copy.steps
        copy.headIndex = headIndex.map { $0 + steps.count }
        return copy
    }
}

extension Response {
    /// Returns a response with these bytes as its body and with their `Content-Length`.
    package static func bytes(_ body: [UInt8], status: Int = 200, headers: HeaderLines = [:]) -> Response {
        let length = HeaderLine("Content-Length", String(body.count))
        let hasBody = status >= 200 && status != 204 && status != 304
        guard hasBody else { return Response(status: status, headers: headers, steps: []) }
        return Response(status: status, headers: headers + HeaderLines([length]), steps: [.write(body)])
    }

    /// Returns a response with text as its body.
    package static func text(_ text: String, status: Int = 200, headers: HeaderLines = [:]) -> Response {
        bytes(Array(text.utf8), status: status, headers: ["Content-Type": "text/plain; charset=utf-8"] + headers)
    }

    /// Returns a response with an empty body, or without a body where the status does not permit one.
    package static func status(_ status: Int, headers: HeaderLines = [:]) -> Response {
        bytes([], status: status, headers: headers)
    }

    /// Returns a response with JSON bytes as its body.
    package static func json(bytes: some Sequence<UInt8>, status: Int = 200, headers: HeaderLines = [:]) -> Response {
        .bytes(Array(bytes), status: status, headers: ["Content-Type": "application/json"] + headers)
    }

    /// Returns a response with a value as JSON, keys sorted; its status is 500 when the value cannot be encoded.
    package static func json(_ value: some Encodable, status: Int = 200, headers: HeaderLines = [:]) -> Response {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(value) else { return .text("not encodable", status: 500) }
        return json(bytes: data, status: status, headers: headers)
    }

    /// Returns a redirect.
    package static func redirect(to location: String, status: Int = 302) -> Response {
        .status(status, headers: ["Location": location])
    }

    /// Returns a response with a whole source as its body and with its `Content-Length`.
    package static func stream(_ source: ByteSource, status: Int = 200, headers: HeaderLines = [:]) -> Response {
        let length = source.length
        return Response(
            status: status,
            headers: headers + ["Content-Length": String(length)],
            steps: [.stream(source, 0..<length)]
        )
    }

    /// Returns a response with a file as its body, which is read while it is sent.
    package static func file(_ url: URL, status: Int = 200, headers: HeaderLines = [:]) -> Response {
        stream(.file(url), status: status, headers: headers)
    }

    /// Returns a response of raw bytes, valid HTTP or not.
    package static func raw(_ text: String) -> Response {
        Response(steps: [.write(text)])
    }

    /// Returns a response of raw steps.
    package static func script(_ steps: Step...) -> Response {
        Response(steps: steps)
    }

    /// A response that never sends anything and leaves the connection open.
    package static let hang = Response(steps: [.hang])

    /// Returns this response, sent after a delay.
    package func delayed(by duration: Duration) -> Response {
        preceded(by: .wait(duration))
    }

    /// Returns this response, sent when the test opens `gate`.
    package func behind(_ gate: Gate) -> Response {
        preceded(by: .pass(gate))
    }

    /// Returns this response with its streams limited to this many bytes per second; 0 is unlimited.
    package func throttled(bytesPerSecond rate: Int64) -> Response {
        replacingSteps { step in
            guard case .stream(let source, let range) = step, rate > 0 else { return [step] }
            let size = max(1, rate / 20)
            let pause = Duration.seconds(Double(size) / Double(rate))
            let pieces = stride(from: range.lowerBound, to: range.upperBound, by: Int64.Stride(size)).map { start in
                Step.stream(source, start..<min(range.upperBound, start + size))
            }
            return pieces.flatMap { [$0, .wait(pause)] }
        }
    }

    /// Returns a response in the chunked coding: one chunk for each element, then the trailers (RFC 9112 section 7.1).
    package static func chunked(
        _ chunks: [[UInt8]],
        status: Int = 200,
        headers: HeaderLines = [:],
        trailers: HeaderLines = [:]
    ) -> Response {
        Response(
            status: status,
            headers: headers + ["Transfer-Encoding": "chunked"],
            steps: chunks.map { .chunk($0) } + [.lastChunk(trailers: trailers)]
        )
    }
}

extension Response.Step {
    /// Sends these bytes as one chunk of the chunked coding.
    ///
    /// Sends nothing when there are no bytes, because an empty chunk would be the last one.
    package static func chunk(_ bytes: [UInt8]) -> Self {
        guard !bytes.isEmpty else { return .write([]) }
        return .write("\(String(bytes.count, radix: 16))\r\n".utf8 + bytes + [.carriageReturn, .lineFeed])
    }

    /// Sends the end of the chunked coding with these trailers.
    package static func lastChunk(trailers: HeaderLines = [:]) -> Self {
        let lines = trailers.flatMap { $0.name.utf8 + [.colon, .space] + $0.bytes + [.carriageReturn, .lineFeed] }
        return .write("0\r\n".utf8 + lines + [.carriageReturn, .lineFeed])
    }
}

extension Response {
    /// The reason phrases of RFC 9110 section 15 that this server uses.
    private static let reasonPhrases = [
        200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 206: "Partial Content",
        301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
        307: "Temporary Redirect", 308: "Permanent Redirect",
        400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
        408: "Request Timeout", 409: "Conflict", 412: "Precondition Failed", 413: "Content Too Large",
        416: "Range Not Satisfiable", 417: "Expectation Failed", 418: "I'm a teapot", 422: "Unprocessable Content",
        429: "Too Many Requests", 431: "Request Header Fields Too Large",
        500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
        504: "Gateway Timeout",
    ]
}
