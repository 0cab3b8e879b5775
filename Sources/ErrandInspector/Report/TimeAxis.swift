import Errand
import Foundation

/// Maps times to positions from 0 to 1000; long times without any exchange are shortened.
struct TimeAxis {

    /// Whether an idle time was shortened.
    private(set) var isShortened = false
    private var spans: [(start: Double, end: Double, position: Double)] = []
    private var length = 0.0

    /// Creates the axis of exchanges in the order of their beginnings.
    init(_ exchanges: [PrintedExchange]) {
        let intervals = exchanges.map { exchange in
            let start = exchange.start.timeIntervalSinceReferenceDate
            return (start: start, end: start + Double(exchange.phases.total) / 1_000_000)
        }
        let merged = Self.merge(intervals)
        let active = merged.reduce(0) { $0 + $1.end - $1.start }
        let longestGap = max(active / 10, 0.001)
        for interval in merged {
            if let last = spans.last {
                let gap = interval.start - last.end
                isShortened = isShortened || gap > longestGap
                length += min(gap, longestGap)
            }
            spans.append((interval.start, interval.end, length))
            length += interval.end - interval.start
        }
    }

    /// The position of a time at which there is an exchange.
    func position(of date: Date) -> Double {
        let time = date.timeIntervalSinceReferenceDate
        guard length > 0, let span = spans[..<spans.index(behindAll: { $0.start <= time })].last else { return 0 }
        return (span.position + min(max(time - span.start, 0), span.end - span.start)) / length * 1_000
    }

    func width(of microseconds: Int64) -> Double {
        length > 0 ? Double(microseconds) / 1_000_000 / length * 1_000 : 0
    }

    private static func merge(_ intervals: [(start: Double, end: Double)]) -> [(start: Double, end: Double)] {
        intervals.reduce(into: []) { merged, interval in
            if let last = merged.last, interval.start <= last.end {
                merged[merged.count - 1].end = max(last.end, interval.end)
            } else {
                merged.append(interval)
            }
        }
    }
}
