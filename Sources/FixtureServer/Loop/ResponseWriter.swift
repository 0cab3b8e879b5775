/// Plays the steps of one response into an output buffer.
struct ResponseWriter {
    /// Why the player stopped.
    enum Pause {
        /// The output must be sent before the player continues.
        case flush
        case wait(Duration)
        case pass(Gate)
        case open(Gate)
        case hang
        case close
        case reset
        /// Every step has been played.
        case finished
    }

    private static let pieceSize: Int64 = 256 << 10
    private let response: Response
    private let isBodyless: Bool
    private var position = 0
    private var stream: (reader: ByteSourceReader, rest: Range<Int64>)?
    private var needsPause = false

    /// Starts at the first step; `isBodyless` skips the bytes that follow the head.
    init(_ response: Response, isBodyless: Bool) {
        self.response = response
        self.isBodyless = isBodyless
    }

    /// Plays steps until one of them is not a write; `output` is empty then.
    mutating func fill(_ output: inout OutputBuffer) -> Pause {
        while !output.isFull, position < response.steps.count {
            if let pause = play(response.steps[position], &output) { return pause }
        }
        return output.isEmpty ? .finished : .flush
    }

    private mutating func play(_ step: Response.Step, _ output: inout OutputBuffer) -> Pause? {
        switch step {
        case .write(let bytes): write(bytes, &output)
        case .stream(let source, let range): write(source, range, &output)
        case .repeatForever(let bytes, let pause): write(bytes, every: pause, &output)
        default: act(step, output)
        }
    }

    private mutating func act(_ step: Response.Step, _ output: OutputBuffer) -> Pause? {
        guard output.isEmpty else { return .flush }
        position += 1
        switch step {
        case .wait(let duration): return .wait(duration)
        case .pass(let gate): return .pass(gate)
        case .open(let gate): return .open(gate)
        case .hang: return .hang
        case .close: return .close
        case .reset: return .reset
        case .write, .stream, .repeatForever: return nil
        }
    }

    private mutating func write(_ bytes: [UInt8], _ output: inout OutputBuffer) -> Pause? {
        guard !isSkipped else { return skip() }
        position += 1
        output.append(bytes)
        return nil
    }

    private mutating func write(_ source: ByteSource, _ range: Range<Int64>, _ output: inout OutputBuffer) -> Pause? {
        guard !isSkipped else { return skip() }
        guard output.isEmpty else { return .flush }
        let (reader, rest) = stream ?? (ByteSourceReader(source), range)
        let bytes = reader.read(rest.prefix(Self.pieceSize))
        output.append(bytes)
        stream = (reader, rest.dropFirst(Int64(bytes.count)))
        // Without the second condition a source that ends early would be read endlessly.
        guard rest.count <= bytes.count || bytes.isEmpty else { return .flush }
        stream = nil
        return skip()
    }

    private mutating func write(_ bytes: [UInt8], every pause: Duration, _ output: inout OutputBuffer) -> Pause? {
        guard !isSkipped else { return skip() }
        guard !bytes.isEmpty else { return .hang }
        if pause > .zero, needsPause {
            guard output.isEmpty else { return .flush }
            needsPause = false
            return .wait(pause)
        }
        needsPause = true
        output.append(bytes)
        return nil
    }

    private var isSkipped: Bool {
        guard isBodyless, let headIndex = response.headIndex else { return false }
        return position > headIndex
    }

    private mutating func skip() -> Pause? {
        position += 1
        return nil
    }
}

extension Range<Int64> {
    fileprivate func prefix(_ count: Int64) -> Range { lowerBound..<Swift.min(upperBound, lowerBound + count) }
    fileprivate func dropFirst(_ count: Int64) -> Range { Swift.min(upperBound, lowerBound + count)..<upperBound }
}

/// Bytes to send that the kernel has not taken yet.
struct OutputBuffer {
    enum Flush {
        case done
        case blocked
        case lost
    }

    private static let highWater = 64 << 10
    private var bytes: [UInt8] = []
    private var start = 0

    /// Whether the kernel has taken all bytes.
    var isEmpty: Bool { start == bytes.count }

    /// Whether the buffer should be sent before more is added: from 64 KiB on.
    var isFull: Bool { bytes.count - start >= Self.highWater }

    /// Adds bytes; does not copy 64 KiB or more into an empty buffer.
    mutating func append(_ new: [UInt8]) {
        if isEmpty, new.count >= Self.highWater {
            bytes = new
            start = 0
        } else {
            bytes += new
        }
    }

    /// Sends as many bytes as the kernel takes.
    mutating func flush(to socket: borrowing StreamSocket) -> Flush {
        while !isEmpty {
            let transfer = bytes.withUnsafeBytes { socket.send($0.slice(start..<$0.count)) }
            switch transfer {
            case .moved(let count): start += count
            case .wouldBlock: return .blocked
            case .ended: return .lost
            }
        }
        bytes.removeAll(keepingCapacity: bytes.capacity <= Self.highWater)
        start = 0
        return .done
    }
}
