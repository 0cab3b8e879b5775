import Dispatch
import Errand
import FixtureServer
import Foundation

/// The addresses and names of the loopback interface that not every system has.
enum Loopback {
    /// Whether there is `::1`.
    static let hasIPv6: Bool = {
        var options = ServerOptions()
        options.listensOnIPv6 = true
        return (try? FixtureServer.start(options) { _ in .status(200) }) != nil
    }()

    /// Whether names below `localhost` have its address, which RFC 6761 recommends.
    ///
    /// On Linux, libcurl resolves them itself.
    static let hasSubdomains: Bool = {
        #if os(Linux)
        true
        #else
        var addresses: UnsafeMutablePointer<addrinfo>?
        defer { if addresses != nil { freeaddrinfo(addresses) } }
        return getaddrinfo("shop.localhost", nil, nil, &addresses) == 0
        #endif
    }()

    #if os(Linux)
    /// Returns a socket that listens on loopback, and its port.
    static func listen() throws -> (Int32, UInt16) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && Foundation.listen(listener, 128) == 0
                    && getsockname(listener, $0, &length) == 0
            }
        }
        guard isListening else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        return (listener, UInt16(bigEndian: address.sin_port))
    }
    #endif
}

#if os(Linux)
/// A port on loopback that forwards its connections to another port; the first ones are accepted and delayed.
final class DelayingForwarder: Sendable {
    private struct State {
        var connections = 0
        var held: [CInt] = []
        var isHolding = true
    }

    let port: UInt16
    private let target: UInt16
    private let holding: Int
    private let listener: CInt
    private let state = Lock(State())

    /// Starts listening.
    ///
    /// - Parameters:
    ///   - target: The port that connections are forwarded to.
    ///   - holding: How many connections wait for ``passOn()``.
    /// - Throws: `POSIXError` when there is no free port.
    init(to target: UInt16, holding: Int) throws {
        (self.target, self.holding) = (target, holding)
        (listener, port) = try Loopback.listen()
        Thread { [weak self, listener] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0, let self else { break }
                self.take(connection)
            }
            close(listener)
        }.start()
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        for connection in state.withLock(\.held) { close(connection) }
    }

    /// The number of accepted connections.
    var connections: Int { state.withLock(\.connections) }

    /// Forwards the delayed connections.
    func passOn() {
        let held = state.withLock { state in
            state.isHolding = false
            defer { state.held = [] }
            return state.held
        }
        held.forEach(passOn)
    }

    private func take(_ connection: CInt) {
        let isHeld = state.withLock { state in
            state.connections += 1
            guard state.isHolding, state.connections <= holding else { return false }
            state.held.append(connection)
            return true
        }
        if !isHeld { passOn(connection) }
    }

    private func passOn(_ connection: CInt) {
        let onward = Self.socket()
        var address = Self.address(target)
        _ = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(onward, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        let ends = DispatchGroup()
        for (from, to) in [(connection, onward), (onward, connection)] {
            ends.enter()
            Thread {
                Self.copy(from, to)
                ends.leave()
            }.start()
        }
        ends.notify(queue: .global()) {
            close(connection)
            close(onward)
        }
    }

    private static func copy(_ from: CInt, _ to: CInt) {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while case let count = read(from, &buffer, buffer.count), count > 0 {
            guard send(to, buffer, count, Int32(MSG_NOSIGNAL)) == count else { break }
        }
        shutdown(to, Int32(SHUT_WR))
    }

    private static func socket() -> CInt {
        Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    }

    private static func address(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }
}
#endif
