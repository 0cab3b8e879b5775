#if os(Linux)
import Foundation

/// Where an exchange runs on an HTTP/2 connection, which tells whether the server has looked at it.
struct CurlStream {
    /// The client's port, which names the connection.
    var port: Int32
    /// The stream's number, 0 when libcurl did not tell it.
    var number: UInt32 = 0
}

/// The last streams that the servers of one host were willing to look at, connection by connection.
///
/// A stream behind that has had no effect and may be repeated (RFC 9113 section 6.8). libcurl repeats it, but does not
/// say in its interface whether it does so for this reason or because the connection died.
struct CurlLastStreams {
    private var numbers: [Int32: UInt32] = [:]

    /// Whether the server has refused to look at `stream`.
    func areBefore(_ stream: CurlStream) -> Bool {
        guard let last = numbers[stream.port] else { return false }
        return stream.number > last
    }

    /// Hears that `stream` has begun; the first one of a connection ends what its port meant before.
    mutating func begin(_ stream: CurlStream) {
        guard stream.number == 1 else { return }
        numbers[stream.port] = nil
    }

    /// Hears the last stream that the server looks at on a connection.
    mutating func end(_ port: Int32, at last: UInt32) {
        numbers[port] = min(last, numbers[port] ?? last)
    }
}

/// What matters of all that libcurl tells in words about HTTP/2.
enum CurlWord: Equatable {
    /// The exchange has a stream of this number.
    case begins(stream: UInt32)
    /// The server looks at no stream of this connection behind this one.
    case lastStream(UInt32)

    /// Understands a line of libcurl from 7.68 to 8; `nil` when it is about something else.
    init?(_ line: String) {
        if let number = line.number(behind: "Using Stream ID: ", radix: 16) {
            self = .begins(stream: number)
        } else if line.contains("] OPENED stream"), let number = line.number(behind: "[HTTP/2] [", radix: 10) {
            self = .begins(stream: number)
        } else if line.contains("GOAWAY"), let number = line.number(behind: "last_stream=", radix: 10) {
            self = .lastStream(number)
        } else {
            return nil
        }
    }
}

extension String {
    fileprivate func number(behind label: String, radix: Int) -> UInt32? {
        guard let range = range(of: label) else { return nil }
        return UInt32(self[range.upperBound...].prefix { $0.isHexDigit }, radix: radix)
    }
}
#endif
