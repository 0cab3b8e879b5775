import Foundation

extension Answer {
    /// An answer with these bytes as its body and their `Content-Length`.
    package static func bytes(_ body: [UInt8], status: Int = 200, headers: HeaderLines = [:]) -> Answer {
        let length = HeaderLine("Content-Length", String(body.count))
        let hasBody = status >= 200 && status != 204 && status != 304
        guard hasBody else { return Answer(status: status, headers: headers, steps: []) }
        return Answer(status: status, headers: headers + HeaderLines([length]), steps: [.write(body)])
    }

    /// An answer with text as its body.
    package static func text(_ text: String, status: Int = 200, headers: HeaderLines = [:]) -> Answer {
        bytes(Array(text.utf8), status: status, headers: ["Content-Type": "text/plain; charset=utf-8"] + headers)
    }

    /// An answer without a body, or with an empty one.
    package static func status(_ status: Int, headers: HeaderLines = [:]) -> Answer {
        bytes([], status: status, headers: headers)
    }

    /// An answer with JSON bytes as its body.
    package static func json(bytes: some Sequence<UInt8>, status: Int = 200, headers: HeaderLines = [:]) -> Answer {
        .bytes(Array(bytes), status: status, headers: ["Content-Type": "application/json"] + headers)
    }

    /// An answer with a value as JSON, keys sorted, or a 500 when it cannot be encoded.
    package static func json(_ value: some Encodable, status: Int = 200, headers: HeaderLines = [:]) -> Answer {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(value) else { return .text("not encodable", status: 500) }
        return json(bytes: data, status: status, headers: headers)
    }

    /// An answer that sends the client elsewhere.
    package static func redirect(to location: String, status: Int = 302) -> Answer {
        .status(status, headers: ["Location": location])
    }

    /// An answer of a whole source, with its `Content-Length`.
    package static func stream(_ source: ByteSource, status: Int = 200, headers: HeaderLines = [:]) -> Answer {
        let length = source.length
        return Answer(
            status: status,
            headers: headers + ["Content-Length": String(length)],
            steps: [.stream(source, 0..<length)]
        )
    }

    /// An answer of a file's bytes, which are read while they are sent.
    package static func file(_ url: URL, status: Int = 200, headers: HeaderLines = [:]) -> Answer {
        stream(.file(url), status: status, headers: headers)
    }

    /// An answer of raw bytes, good or bad HTTP.
    package static func raw(_ text: String) -> Answer {
        Answer(steps: [.write(text)])
    }

    /// An answer of raw steps.
    package static func script(_ steps: Step...) -> Answer {
        Answer(steps: steps)
    }

    /// The request is taken and never answered.
    package static let hang = Answer(steps: [.hang])

    /// This answer after a while.
    package func delayed(by duration: Duration) -> Answer {
        preceded(by: .wait(duration))
    }

    /// This answer when the test opens `gate`.
    package func behind(_ gate: Gate) -> Answer {
        preceded(by: .pass(gate))
    }
}
