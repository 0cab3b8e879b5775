/// A way to send the same request repeatedly, with several requests in flight.
@MainActor protocol RequestLoop {
    /// Sends this many requests and returns when all have succeeded.
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
