/// A way to make the same request over and over, a number of them in flight.
@MainActor protocol RequestLoop {
    /// Makes so many requests and returns when the last one has ended well.
    func run(requests: Int, concurrency: Int) async throws
}

/// Measures a loop as a whole: time, CPU and memory.
struct MeasuredLoop: Workload {
    let loop: any RequestLoop

    func run(_ order: Order) async throws -> Measurement {
        let meter = Meter()
        try await loop.run(requests: order.requests, concurrency: order.concurrency)
        return meter.measurement(of: order.requests)
    }
}
