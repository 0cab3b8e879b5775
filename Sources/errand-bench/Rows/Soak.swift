/// Many requests through the layer; the resources in use are measured after the first tenth and at the end.
struct Soak: Workload {
    let loop: LayerLoop

    func run(_ order: Order) async throws -> Measurement {
        let first = max(1, order.requests / 10)
        try await loop.run(requests: first, concurrency: order.concurrency)
        let (threads, descriptors) = (Census.threads, Census.descriptors)
        let rest = max(1, order.requests - first)
        let meter = Meter()
        try await loop.run(requests: rest, concurrency: order.concurrency)
        return meter.measurement(of: rest).merging([
            "requests": Double(order.requests), "threads": Double(Census.threads),
            "threads_growth": Double(Census.threads - threads), "descriptors": Double(Census.descriptors),
            "descriptors_growth": Double(Census.descriptors - descriptors),
        ]) { $1 }
    }
}
