/// Takes the bytes of one request body as ``BodyHandling`` says.
struct BodyCollector {
    private let handling: BodyHandling
    private var kept: [UInt8] = []
    private var hash: SHA256?
    private(set) var count: Int64 = 0

    init(_ handling: BodyHandling) {
        self.handling = handling
        if case .digest = handling { hash = SHA256() }
    }

    /// The closed gate that must be open before more of the body is read.
    var gate: Gate? {
        guard case .pause(let limit, let gate) = handling, count >= limit, !gate.isOpen else { return nil }
        return gate
    }

    /// Takes bytes.
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        count += Int64(bytes.count)
        hash?.update(bytes)
        guard case .keep(let limit) = handling else { return }
        kept.append(contentsOf: bytes.slice(0..<min(bytes.count, limit - kept.count)))
    }

    /// Puts what was taken into `request`.
    consuming func finish(_ request: inout RecordedRequest) {
        request.body = kept
        request.bodyCount = count
        request.bodySHA256 = hash?.finish()
    }
}
