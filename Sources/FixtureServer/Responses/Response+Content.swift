import Foundation

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
}
