import Foundation
import TestSupport

/// A blocking connection that reads and writes bytes, with a timeout of ten seconds.
struct RawClient: ~Copyable {
    /// How a connection ended.
    enum End: Equatable {
        case fin
        case reset
        case timeout
    }

    /// A parsed response.
    struct Reply: Equatable {
        let statusLine: String
        let headers: [String]
        let body: [UInt8]

        var status: Int { Int(statusLine.split(separator: " ").dropFirst().first ?? "") ?? 0 }
        var text: String { String(decoding: body, as: UTF8.self) }

        func header(_ name: String) -> String? {
            let prefix = name.lowercased() + ": "
            return headers.first { $0.lowercased().hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
        }
    }

    private let socket: Int32
    private var unread: [UInt8] = []

    /// Connects to `127.0.0.1`.
    init(port: UInt16) throws {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        try self.init(family: AF_INET, address)
    }

    /// Connects to `address`.
    init<Address>(family: Int32, _ address: Address) throws {
        #if os(Linux)
        socket = Foundation.socket(family, Int32(SOCK_STREAM.rawValue), 0)
        #else
        socket = Foundation.socket(family, SOCK_STREAM, 0)
        var on: Int32 = 1
        setsockopt(socket, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
        #endif
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let result = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { [socket] in
                connect(socket, $0, socklen_t(MemoryLayout<Address>.size))
            }
        }
        guard result == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    deinit { close(socket) }

    /// Sends bytes.
    func send(_ bytes: [UInt8]) {
        #if os(Linux)
        let flags = Int32(MSG_NOSIGNAL)
        #else
        let flags: Int32 = 0
        #endif
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.send(socket, $0.baseAddress, $0.count, flags) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Sends text.
    func send(_ text: String) {
        send(Array(text.utf8))
    }

    /// Sends a request; one with a body has its `Content-Length`.
    func request(_ method: String = "GET", _ target: String, _ headers: [String] = [], body: [UInt8] = []) {
        let length = body.isEmpty ? [] : ["Content-Length: \(body.count)"]
        let lines = ["\(method) \(target) HTTP/1.1", "Host: localhost"] + headers + length
        send(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body)
    }

    /// Reads exactly this many bytes; fewer at the end of the stream.
    mutating func read(_ count: Int) -> [UInt8] {
        while unread.count < count, receive() == nil {}
        defer { unread.removeFirst(min(count, unread.count)) }
        return Array(unread.prefix(count))
    }

    /// Reads up to and including `mark`, or up to the end of the stream.
    mutating func read(through mark: String) -> String {
        var end: Int?
        repeat { end = unread.endIndex(behind: Array(mark.utf8)) } while end == nil && receive() == nil
        return String(decoding: read(end ?? unread.count), as: UTF8.self)
    }

    /// Reads everything up to the end of the stream, and returns how it ended.
    mutating func readToEnd() -> (bytes: [UInt8], end: End) {
        while true {
            if let end = receive() { return (read(unread.count), end) }
        }
    }

    /// Reads a response with a `Content-Length`; pass `false` for `hasBody` after `HEAD`.
    mutating func reply(hasBody: Bool = true) -> Reply {
        let lines = read(through: "\r\n\r\n").components(separatedBy: "\r\n").dropLast(2)
        let head = Reply(statusLine: lines.first ?? "", headers: Array(lines.dropFirst()), body: [])
        let length = hasBody ? Int(head.header("Content-Length") ?? "") ?? 0 : 0
        return Reply(statusLine: head.statusLine, headers: head.headers, body: read(length))
    }

    private mutating func receive() -> End? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(socket, &buffer, buffer.count, 0)
        guard count <= 0 else {
            unread += buffer.prefix(count)
            return nil
        }
        return count == 0 ? .fin : errno == ECONNRESET ? .reset : .timeout
    }
}

extension [UInt8] {
    fileprivate func endIndex(behind mark: [UInt8]) -> Int? {
        guard count >= mark.count else { return nil }
        return (mark.count...count).first { self[($0 - mark.count)..<$0].elementsEqual(mark) }
    }
}

/// The `gzip` program, an independent decoder.
enum Gunzip {
    static func run(_ bytes: [UInt8]) throws -> [UInt8] {
        let process = Process()
        let (input, output) = (Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["gzip", "-dc"]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data(bytes))
        try input.fileHandleForWriting.close()
        return Array(try output.fileHandleForReading.readToEnd() ?? Data())
    }
}
