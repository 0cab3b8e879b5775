import Errand
import Foundation

/// Converts the uptimes of events to dates, by the wall clock at one moment.
struct WallClock: Sendable {
    private let date = Date()
    private let uptime = SystemClock.uptime

    func date(at uptime: Duration) -> Date {
        date + (uptime - self.uptime).seconds
    }

    /// When an exchange has begun, with its time in the queue.
    func start(of exchange: RecordedExchange) -> Date {
        (exchange.timings?.startedAt ?? date(at: exchange.madeAt)) - (exchange.queue ?? .zero).seconds
    }
}

extension Duration {
    /// The seconds as a number.
    var seconds: Double { self / .seconds(1) }

    /// The whole microseconds.
    var microseconds: Int64 { Int64((self / .microseconds(1)).rounded()) }
}
