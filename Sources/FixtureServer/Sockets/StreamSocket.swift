import Foundation

/// One accepted connection; it never blocks and never raises `SIGPIPE`.
struct StreamSocket: ~Copyable {
    /// What a transfer came to.
    enum Transfer {
        case moved(Int)
        case wouldBlock
        case ended
    }

    private let descriptor: Descriptor

    init(_ descriptor: consuming Descriptor) {
        self.descriptor = descriptor
        setOption(System.tcpLevel, TCP_NODELAY, Int32(1))
    }

    /// The number of the descriptor, for the poller.
    var number: Int32 { descriptor.number }

    /// Takes what has arrived; `ended` is the end of the stream and every error alike.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
        let count = recv(number, buffer.baseAddress, buffer.count, 0)
        if count > 0 { return .moved(count) }
        return count < 0 && Self.isTemporary(errno) ? .wouldBlock : .ended
    }

    /// Hands over as many bytes as the kernel takes.
    func send(_ bytes: UnsafeRawBufferPointer) -> Transfer {
        let count = Foundation.send(number, bytes.baseAddress, bytes.count, System.sendFlags)
        if count >= 0 { return .moved(count) }
        return Self.isTemporary(errno) ? .wouldBlock : .ended
    }

    /// Sends FIN after the bytes that were handed over; reading goes on.
    func finishSending() {
        shutdown(number, Int32(SHUT_WR))
    }

    /// Makes the coming close an RST.
    func armReset() {
        setOption(SOL_SOCKET, SO_LINGER, linger(l_onoff: 1, l_linger: 0))
    }

    private func setOption<Value: BitwiseCopyable>(_ level: Int32, _ name: Int32, _ value: Value) {
        withUnsafeBytes(of: value) {
            _ = setsockopt(number, level, name, $0.baseAddress, socklen_t($0.count))
        }
    }

    private static func isTemporary(_ code: Int32) -> Bool {
        code == EAGAIN || code == EWOULDBLOCK || code == EINTR
    }
}
