#if os(Linux)
import CurlRuntime

/// What the system has done with the bytes that libcurl has written to a connection.
typealias CurlSending = curlrt_sending

/// The sockets that the transfers of one loop have open.
///
/// libcurl's connections refer to it until they are closed. The functions that count turns are called on the loop's thread, the
/// others on any thread.
// The C functions lock what both threads use.
final class CurlSockets: @unchecked Sendable {
    let pointer: OpaquePointer

    init?() {
        guard let pointer = curlrt_sockets_make() else { return nil }
        self.pointer = pointer
    }

    deinit { curlrt_sockets_free(pointer) }

    func beginTurn() { curlrt_sockets_begin_turn(pointer) }

    func add(_ descriptor: Int32) { curlrt_sockets_add(pointer, descriptor) }

    func close(_ descriptor: Int32) -> Int32 { curlrt_sockets_close(pointer, descriptor) }

    /// In nanoseconds; `nil` unless it is a connected TCP socket.
    func roundTripTime(of descriptor: Int32) -> Int64? {
        let microseconds = curlrt_sockets_round_trip(pointer, descriptor)
        return microseconds >= 0 ? microseconds * 1_000 : nil
    }

    /// Whether nothing has arrived at the connection from a local port since its last response.
    func isSilent(fromPort port: Int32) -> Bool { curlrt_sockets_are_silent(pointer, port) }

    /// Of the connection from a local port; `nil` if it is not known.
    func sending(fromPort port: Int32) -> CurlSending? {
        var sending = CurlSending()
        return curlrt_sockets_sending(pointer, port, &sending) ? sending : nil
    }

    func beginMeasuring() { curlrt_sockets_begin_measuring(pointer) }

    /// How many bytes libcurl has read from each socket since the last call.
    func measure() { curlrt_sockets_measure(pointer) }

    /// `false` if libcurl has read less than `bytes`, or in fewer than `reads` measurements, from each socket.
    func shutDownMostRead(bytes: Int64, reads: Int32) -> Bool {
        curlrt_sockets_shut_down_most_read(pointer, bytes, reads)
    }
}
#endif
