extension Response {
    /// Returns a response in the chunked coding: one chunk for each element, then the trailers (RFC 9112 section 7.1).
    package static func chunked(
        _ chunks: [[UInt8]],
        status: Int = 200,
        headers: HeaderLines = [:],
        trailers: HeaderLines = [:]
    ) -> Response {
        Response(
            status: status,
            headers: headers + ["Transfer-Encoding": "chunked"],
            steps: chunks.map { .chunk($0) } + [.lastChunk(trailers: trailers)]
        )
    }
}

extension Response.Step {
    /// Sends these bytes as one chunk of the chunked coding.
    ///
    /// Sends nothing when there are no bytes, because an empty chunk would be the last one.
    package static func chunk(_ bytes: [UInt8]) -> Self {
        guard !bytes.isEmpty else { return .write([]) }
        return .write("\(String(bytes.count, radix: 16))\r\n".utf8 + bytes + [.carriageReturn, .lineFeed])
    }

    /// Sends the end of the chunked coding with these trailers.
    package static func lastChunk(trailers: HeaderLines = [:]) -> Self {
        let lines = trailers.flatMap { $0.name.utf8 + [.colon, .space] + $0.bytes + [.carriageReturn, .lineFeed] }
        return .write("0\r\n".utf8 + lines + [.carriageReturn, .lineFeed])
    }
}
