import Dispatch
import Foundation

/// The signals that interrupt a program.
enum Interruption {
    /// Waits for one of the signals, after which the next one ends the program; `nil` when the task is cancelled.
    static func wait() async -> Int32? {
        let (signals, news) = AsyncStream.makeStream(of: Int32.self)
        let sources = [SIGINT, SIGTERM, SIGHUP].map { number in
            // The default action would end the process before the source receives the signal.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler { news.yield(number) }
            source.setCancelHandler { signal(number, SIG_DFL) }
            source.resume()
            return source
        }
        defer { for source in sources { source.cancel() } }
        for await signal in signals { return signal }
        return nil
    }
}
