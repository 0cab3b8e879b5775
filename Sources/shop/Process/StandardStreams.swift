import Foundation

/// Makes the three standard streams safe to use.
enum StandardStreams {
    /// Ignores `SIGPIPE`, and opens streams that the caller has closed, so that no socket or file gets their numbers.
    static func secure() {
        signal(SIGPIPE, SIG_IGN)
        while true {
            let descriptor = open("/dev/null", O_RDWR)
            guard (0...2).contains(descriptor) else {
                close(descriptor)
                return
            }
        }
    }

    /// Writes a line to standard error.
    static func complain(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data("shop: \(text.printable)\n".utf8))
    }
}
