/// What the server sends for one request: a response head and steps that the loop plays one after the other.
package struct Answer: Sendable {
    /// One step of an answer.
    ///
    /// Every step other than ``write(_:)`` begins when the bytes before it have gone to the kernel.
    package enum Step: Sendable {
        /// Sends these bytes.
        case write([UInt8])
        /// Sends these bytes of a source without holding more than a piece of them.
        case stream(ByteSource, Range<Int64>)
        /// Sends these bytes for ever, with a pause in between, as fast as the client reads at most.
        case repeatForever([UInt8], every: Duration)
        /// Waits.
        case wait(Duration)
        /// Waits until the test opens this gate.
        case pass(Gate)
        /// Tells the test that the answer has come this far.
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

    /// What is played, the response head included.
    package private(set) var steps: [Step]
    /// Which step writes the response head; none in an answer of raw steps.
    private(set) var headIndex: Int?
    /// The status of the response head; none in an answer of raw steps.
    package private(set) var status: Int?

    /// Creates an answer of raw steps, which are played as they are, whatever the request.
    package init(steps: [Step]) {
        self.steps = steps
    }

    /// Creates an answer whose head is these lines alone, and whose steps write nothing for `HEAD`.
    package init(status: Int, headers: HeaderLines = [:], steps: [Step]) {
        var head = Array("HTTP/1.1 \(status) \(ReasonPhrase.of(status))\r\n".utf8)
        for line in headers { head += line.name.utf8 + [.colon, .space] + line.bytes + [.carriageReturn, .lineFeed] }
        head += [.carriageReturn, .lineFeed]
        self.steps = [.write(head)] + steps
        self.status = status
        headIndex = 0
    }

    /// Adds a header line; an answer of raw steps stays as it is.
    package func adding(_ name: String, _ value: String) -> Answer {
        guard let headIndex, case .write(var head) = steps[headIndex] else { return self }
        head.insert(contentsOf: "\(name): \(value)\r\n".utf8, at: head.count - 2)
        var copy = self
        copy.steps[headIndex] = .write(head)
        return copy
    }

    /// Ends the connection behind this answer, and says so in its head.
    package func closing() -> Answer {
        adding("Connection", "close").followed(by: .close)
    }

    /// Adds steps behind those that are there.
    package func followed(by steps: Step...) -> Answer {
        var copy = self
        copy.steps += steps
        return copy
    }

    /// Puts other steps in the place of each, the response head left alone.
    func replacingSteps(_ replacement: (Step) -> [Step]) -> Answer {
        var copy = self
        let body = (headIndex ?? -1) + 1
        copy.steps = steps[..<body] + steps[body...].flatMap(replacement)
        return copy
    }

    /// Adds steps before the first byte of the head.
    package func preceded(by steps: Step...) -> Answer {
        var copy = self
        copy.steps = steps + copy.steps
        copy.headIndex = headIndex.map { $0 + steps.count }
        return copy
    }
}
