#if os(Linux)
import Foundation

@testable import Errand

/// An HTTP/2 server over TLS on loopback (RFC 9113) that performs a test's action on each stream.
///
/// It ignores header blocks, so requests are identified by their bodies. Each connection has a thread.
final class HTTP2Server: Sendable {
    /// The server's action on a stream when the whole request has arrived.
    enum Action: Sendable {
        /// Responses 200 with this text.
        case response(String)
        /// Responses 200 with these bytes and their `Content-Encoding`.
        case coded([UInt8], String)
        /// Does not respond.
        case silence
        /// Sends this frame until the connection ends.
        case flood([UInt8])
        /// Resets the stream with `REFUSED_STREAM`.
        case refusal
        /// Responds 200 and begins a body, then resets the stream; with `INTERNAL_ERROR`, as a proxy server that has lost another.
        case interruption(code: UInt8 = 2)
        /// Announces with `GOAWAY` that neither this stream nor a later one of the connection is processed.
        case departure
        /// Ends the connection.
        case close
        /// Ends the connection with a TCP reset.
        case reset
    }

    /// How the server reads the bodies of requests.
    enum Reading: Sendable {
        case atOnce
        /// At most the 64 KiB of the first window.
        case oneWindow
        /// About 20 KB in a second, for which it opens its windows little by little, once the client knows how small they are.
        case windowByWindow
        /// About 200 KB in a second, with large windows and a small buffer, so that the client's system has most of a body.
        case slowly
        /// Not after the first bytes, to which it responds with the status of this entry of HPACK's static table and a text of
        /// unknown length; then it resets the stream with this code, if any.
        case notAfterResponse(status: UInt8, code: UInt8?)
        /// Has no window for a body until this returns whether the stream is taken; another is refused.
        case whenTaken(@Sendable () -> Bool)
    }

    /// One complete request.
    struct Request: Sendable {
        /// The number of the connection, counted from 1.
        let connection: Int
        /// The number of the stream on its connection: 1, 3, 5 and so on.
        let stream: UInt32
        let body: [UInt8]

        var text: String { String(decoding: body, as: UTF8.self) }
    }

    typealias Plan = @Sendable (Request) -> Action

    let port: UInt16
    private let listener: Int32
    private let tls: TLSServer
    private let plan: Plan
    private let reading: Reading
    private let state = Lock(State())

    private struct State {
        var requests: [Request] = []
        var connections = 0
    }

    /// Starts a server with the certificate that `authority` has signed for this machine.
    init(_ authority: TestAuthority, reading: Reading = .atOnce, _ plan: @escaping Plan) throws {
        self.reading = reading
        tls = try TLSServer(identity: authority.identity("server"), protocol: "h2")
        self.plan = plan
        (listener, port) = try Loopback.listen()
        var size: Int32 = 2_048
        let length = socklen_t(MemoryLayout<Int32>.size)
        if case .slowly = reading { setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &size, length) }
        Thread { [listener, weak self] in
            while case let socket = accept(listener, nil, nil), socket >= 0 {
                guard let self else { break }
                self.serve(socket)
            }
            Foundation.close(listener)
        }.start()
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    /// Every complete request, in the order of arrival.
    var requests: [Request] { state.withLock(\.requests) }

    /// The number of accepted connections.
    var totalConnections: Int { state.withLock(\.connections) }

    func url(_ path: String) -> URL { URL("https://127.0.0.1:\(port)\(path)") }

    private func serve(_ socket: Int32) {
        let number = state.withLock { state in
            state.connections += 1
            return state.connections
        }
        Thread { [tls, reading, weak self] in
            CurlLibrary.blockSIGPIPE()
            defer { close(socket) }
            guard let stream = tls.accept(socket) else { return }
            let connection = HTTP2Connection(stream, reading)
            while let (stream, body) = connection.nextRequest() {
                guard let self else { break }
                let request = Request(connection: number, stream: stream, body: body)
                guard self.perform(request, on: connection, socket: socket) else { break }
            }
        }.start()
    }

    /// Returns whether the connection continues.
    private func perform(_ request: Request, on connection: HTTP2Connection, socket: Int32) -> Bool {
        state.withLock { $0.requests.append(request) }
        switch plan(request) {
        case .response(let text): connection.response(request.stream, Array(text.utf8))
        case .coded(let bytes, let coding): connection.response(request.stream, bytes, coding)
        case .silence: break
        case .flood(let frame):
            connection.flood(frame)
            return false
        case .refusal: connection.refuse(request.stream)
        case .interruption(let code): connection.interrupt(request.stream, code)
        case .departure: connection.leave(before: request.stream)
        case .close: return false
        case .reset:
            Self.discardUnsentBytes(of: socket)
            return false
        }
        return true
    }

    /// Makes the kernel end a connection with a reset when the socket is closed.
    private static func discardUnsentBytes(of socket: Int32) {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }
}

/// The frames of one connection (RFC 9113 section 6), used on one thread.
private final class HTTP2Connection {
    private enum Frame: UInt8 {
        case data, headers, priority, reset, settings, push, ping, goAway, windowUpdate, continuation
    }

    private static let endOfStream: UInt8 = 1
    private static let endOfHeaders: UInt8 = 4
    private static let acknowledgement: UInt8 = 1
    private static let refusedStream: UInt32 = 7
    private static let frameSize = 16_384
    /// Of bytes.
    private static let step = 2_000
    private static let largeWindow = UInt32(1 << 30).bytes
    /// `SETTINGS_INITIAL_WINDOW_SIZE`.
    private static let windowSetting: [UInt8] = [0, 4]

    private let connection: TLSServer.Connection
    private var bodies: [UInt32: [UInt8]] = [:]
    private var hasPreface = false
    private let reading: HTTP2Server.Reading

    init(_ connection: TLSServer.Connection, _ reading: HTTP2Server.Reading) {
        (self.connection, self.reading) = (connection, reading)
    }

    /// Reads until a request is complete; returns `nil` at the end of the connection.
    func nextRequest() -> (stream: UInt32, body: [UInt8])? {
        guard hasPreface || connection.receive(24) != nil else { return nil }
        if !hasPreface { begin() }
        hasPreface = true
        while let head = connection.receive(9) {
            let count = head[..<3].reduce(0) { $0 << 8 | Int($1) }
            let stream = head[5...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            guard let payload = connection.receive(count) else { return nil }
            take(Frame(rawValue: head[3]), flags: head[4], stream, payload)
            let carriesEnd = head[3] <= Frame.headers.rawValue && head[4] & Self.endOfStream != 0
            if carriesEnd { return (stream, bodies.removeValue(forKey: stream) ?? []) }
        }
        return nil
    }

    private func begin() {
        switch reading {
        case .atOnce, .oneWindow, .notAfterResponse: send(.settings)
        case .windowByWindow: send(.settings, Self.windowSetting + UInt32(Self.step).bytes)
        case .slowly:
            send(.settings, Self.windowSetting + Self.largeWindow)
            send(.windowUpdate, Self.largeWindow)
        case .whenTaken:
            send(.settings, Self.windowSetting + UInt32(0).bytes)
            send(.windowUpdate, Self.largeWindow)
        }
    }

    private func take(_ frame: Frame?, flags: UInt8, _ stream: UInt32, _ payload: [UInt8]) {
        switch frame {
        case .data:
            bodies[stream, default: []] += payload
            read(payload.count, of: stream)
        case .headers where flags & Self.endOfStream == 0: decide(on: stream)
        case .settings where flags & Self.acknowledgement == 0: send(.settings, flags: Self.acknowledgement)
        case .ping where flags & Self.acknowledgement == 0: send(.ping, flags: Self.acknowledgement, payload)
        default: break
        }
    }

    private func decide(on stream: UInt32) {
        guard case .whenTaken(let isTaken) = reading else { return }
        if isTaken() { send(.windowUpdate, stream: stream, Self.largeWindow) } else { refuse(stream) }
    }

    private func read(_ count: Int, of stream: UInt32) {
        switch reading {
        case .atOnce where count > 0: openWindows(of: stream, by: count)
        case .slowly: usleep(UInt32(count * 5))
        case .windowByWindow where count > 0:
            usleep(UInt32(count * 50))
            openWindows(of: stream, by: count)
        case .notAfterResponse(let status, let code) where bodies[stream]?.count == count:
            send(.headers, flags: Self.endOfHeaders, stream: stream, [0x80 | status])
            send(.data, flags: Self.endOfStream, stream: stream, Array("early".utf8))
            if let code { send(.reset, stream: stream, UInt32(code).bytes) }
        default: break
        }
    }

    private func openWindows(of stream: UInt32, by count: Int) {
        for stream in [0, stream] { send(.windowUpdate, stream: stream, UInt32(count).bytes) }
    }

    /// Responds with a body that fits in the client's window.
    func response(_ stream: UInt32, _ body: [UInt8], _ coding: String = "") {
        // The entries of the static table (RFC 7541 appendix A) that are ":status: 200" and "content-encoding".
        let status: [UInt8] = [0x88], name: [UInt8] = [0x0F, 0x0B]
        let line = coding.isEmpty ? [] : name + [UInt8(coding.utf8.count)] + coding.utf8
        send(.headers, flags: Self.endOfHeaders, stream: stream, status + line)
        for start in stride(from: 0, to: body.count, by: Self.frameSize) {
            send(.data, stream: stream, Array(body[start...].prefix(Self.frameSize)))
        }
        send(.data, flags: Self.endOfStream, stream: stream)
    }

    /// Sends a frame until the connection ends.
    func flood(_ frame: [UInt8]) {
        let frames = Array(repeatElement(frame, count: Self.frameSize / frame.count).joined())
        while connection.send(frames) {}
    }

    func interrupt(_ stream: UInt32, _ code: UInt8) {
        send(.headers, flags: Self.endOfHeaders, stream: stream, [0x88])
        send(.data, stream: stream, [0x61])
        send(.reset, stream: stream, UInt32(code).bytes)
    }

    func refuse(_ stream: UInt32) {
        send(.reset, stream: stream, Self.refusedStream.bytes)
    }

    func leave(before stream: UInt32) {
        send(.goAway, (stream >= 2 ? stream - 2 : 0).bytes + UInt32(0).bytes)
    }

    private func send(_ frame: Frame, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []) {
        let head = UInt32(payload.count).bytes.dropFirst() + [frame.rawValue, flags] + stream.bytes
        connection.send(head + payload)
    }
}

extension UInt32 {
    fileprivate var bytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}
#endif
