import Foundation

/// One accepted connection; it never blocks and never raises `SIGPIPE`.
struct StreamSocket: ~Copyable {
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

    /// The descriptor, for the poller.
    var number: Int32 { descriptor.number }

    /// Reads the bytes that have arrived; returns `ended` at the end of the stream and for every error.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
        let count = recv(number, buffer.baseAddress, buffer.count, 0)
        if count > 0 { return .moved(count) }
        return count < 0 && Self.isTemporary(errno) ? .wouldBlock : .ended
    }

    /// Sends as many bytes as the kernel takes.
    func send(_ bytes: UnsafeRawBufferPointer) -> Transfer {
        let count = Foundation.send(number, bytes.baseAddress, bytes.count, System.sendFlags)
        if count >= 0 { return .moved(count) }
        return Self.isTemporary(errno) ? .wouldBlock : .ended
    }

    /// Sends FIN after the bytes so far; the socket can still be read.
    func finishSending() {
        shutdown(number, Int32(SHUT_WR))
    }

    /// Makes the close send RST.
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

/// A file descriptor that is closed when its owner is destroyed.
struct Descriptor: ~Copyable, Sendable {
    let number: Int32

    init(_ number: Int32) {
        self.number = number
    }

    deinit {
        close(number)
    }
}

/// A failed system call.
package struct SystemError: Error, CustomStringConvertible {
    /// The call's name.
    package let call: String
    /// The value of `errno`.
    package let code: Int32

    init(_ call: String, code: Int32 = errno) {
        self.call = call
        self.code = code
    }

    /// The call and the system's message for the code.
    package var description: String {
        "\(call): \(String(cString: strerror(code)))"
    }
}
