#if os(Linux)
import Foundation

/// Ends the transfer when a write callback answers with it, since it is never the number of bytes given.
private let refused = -1
/// Ends the transfer when a read callback answers with it (`CURL_READFUNC_ABORT`).
private let aborted = 0x1000_0000

/// Pauses the transfer when a write callback answers with it; the bytes come again then (`CURL_WRITEFUNC_PAUSE`).
private let postponed = 0x1000_0001

/// Takes one header line.
let curlTakesHeader: CurlTransferFunction = { bytes, size, count, context in
    let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return exchange(context)?.receive(headerLine: line) == true ? line.count : refused
}

/// Takes a part of the body.
let curlTakesBody: CurlTransferFunction = { bytes, size, count, context in
    let part = UnsafeRawBufferPointer(start: bytes, count: size * count)
    guard let isDone = exchange(context)?.receive(body: part) else { return refused }
    return isDone ? part.count : postponed
}

/// Asks for a part of the request's body.
let curlWantsBody: CurlTransferFunction = { bytes, size, count, context in
    let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
    return exchange(context)?.send(into: buffer) ?? aborted
}

/// Asks to send the body from its start once more.
let curlRewindsBody: CurlSeekFunction = { context, offset, origin in
    guard offset == 0, origin == SEEK_SET else { return 1 }
    return exchange(context)?.rewind() == true ? 0 : 1
}

/// Called before the request goes out on a connection.
let curlIsReady: CurlReadyFunction = { context, _, _, _, _ in
    exchange(context)?.beginAttempt() == true ? 0 : 1
}

private func exchange(_ context: UnsafeMutableRawPointer?) -> CurlExchange? {
    guard let context else { return nil }
    return Unmanaged<CurlHandle>.fromOpaque(context).takeUnretainedValue().exchange
}
#endif
