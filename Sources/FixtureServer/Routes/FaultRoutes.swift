extension RouteTable {
    /// `/hang`, `/garbage`, `/drop/…`, `/reset/…`, `/endless/…`: what servers do at their worst.
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
        any("/endless/body") { request in
            Answer(status: 200, steps: [.repeatForever(Array(repeating: 0x2A, count: 4096), every: request.pace)])
        }
        any("/endless/headers") { request in
            let line = Array("X-More: and more and more\r\n".utf8)
            return .script(.write("HTTP/1.1 200 OK\r\n"), .repeatForever(line, every: request.pace))
        }
        any("/endless/continue") { request in
            let line = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
            return .script(.repeatForever(line, every: request.pace))
        }
    }
}

extension RecordedRequest {
    /// The pause that `?every=` asks for, in seconds.
    fileprivate var pace: Duration { .seconds(number("every") ?? 0) }
}
