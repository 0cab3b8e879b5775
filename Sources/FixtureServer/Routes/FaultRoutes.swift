extension RouteTable {
    /// Adds `/hang`, `/garbage`, `/drop/…`, `/reset/…` and `/endless/…`: faulty responses.
    mutating func addFaults() {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
        any("/hang") { _ in .hang }
        any("/garbage") { _ in .script(.write("\u{0}\u{1}this is not HTTP\r\n\r\n"), .close) }
        any("/drop/at-once") { _ in .script(.close) }
        any("/drop/mid-headers") { _ in .script(.write(head), .close) }
        any("/drop/mid-body") { _ in .script(.write(head + "Content-Length: 1000\r\n\r\nabc"), .close) }
        any("/reset/at-once") { _ in .script(.reset) }
        any("/reset/mid-headers") { _ in .script(.write(head), .reset) }
        any("/reset/mid-body") { _ in .script(.write(head + "Content-Length: 1000\r\n\r\nabc"), .reset) }
        endless("/endless/body", Array(repeating: 0x2A, count: 4096), Response(status: 200, steps: []))
        endless("/endless/headers", "X-More: and more and more\r\n".utf8, .script(.write("HTTP/1.1 200 OK\r\n")))
        endless("/endless/continue", "HTTP/1.1 100 Continue\r\n\r\n".utf8, .script())
    }

    /// Returns a response that repeats `bytes` after `beginning`, with a pause of `?every=` seconds.
    private mutating func endless(_ path: String, _ bytes: some Sequence<UInt8>, _ beginning: Response) {
        let bytes = Array(bytes)
        any(path) { request in
            guard let pause = request.seconds("every", standard: 0) else { return .badParameter }
            return beginning.followed(by: .repeatForever(bytes, every: pause))
        }
    }
}
