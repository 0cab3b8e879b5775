/// Collects the bytes of one request body as a ``BodyHandling`` specifies.
struct BodyCollector {
    private let handling: BodyHandling
    private var kept: [UInt8] = []
    private var hash: SHA256?
    private(set) var count: Int64 = 0

    init(_ handling: BodyHandling) {
        self.handling = handling
        if case .digest = handling { hash = SHA256() }
    }

    /// The gate that must open before more of the body is read; `nil` when none is closed.
    var gate: Gate? {
        guard case .pause(let limit, let gate) = handling, count >= limit, !gate.isOpen else { return nil }
        return gate
    }

    /// Adds bytes.
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        count += Int64(bytes.count)
        hash?.update(bytes)
        guard case .keep(let limit) = handling else { return }
        kept.append(contentsOf: bytes.slice(0..<min(bytes.count, limit - kept.count)))
    }

    /// Sets the body of `request`.
    consuming func finish(_ request: inout RecordedRequest) {
        request.body = kept
        request.bodyCount = count
        request.bodySHA256 = hash?.finish()
    }
}
