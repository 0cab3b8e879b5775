/// Bytes that are to be sent and that the kernel has not taken yet.
struct OutputBuffer {
    /// What an attempt to send everything came to.
    enum Flush {
        case done
        case blocked
        case lost
    }

    private static let highWater = 64 << 10
    private var bytes: [UInt8] = []
    private var start = 0

    /// Whether everything has gone to the kernel.
    var isEmpty: Bool { start == bytes.count }

    /// Whether it is worth sending before more is added.
    var isFull: Bool { bytes.count - start >= Self.highWater }

    /// Adds bytes; large ones that come alone are taken over rather than copied.
    mutating func append(_ new: [UInt8]) {
        if isEmpty, new.count >= Self.highWater {
            bytes = new
            start = 0
        } else {
            bytes += new
        }
    }

    /// Sends as much as the kernel takes.
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
