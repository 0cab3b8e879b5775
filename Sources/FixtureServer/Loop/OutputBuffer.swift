/// Bytes to send that the kernel has not taken yet.
struct OutputBuffer {
    /// The result of an attempt to send everything.
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
