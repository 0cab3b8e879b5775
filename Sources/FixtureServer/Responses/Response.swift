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
        var head = Array("HTTP/1.1 \(status) \(ReasonPhrase.of(status))\r\n".utf8)
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
