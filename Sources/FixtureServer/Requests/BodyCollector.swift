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

    /// Whether no more of the body is to be read, ever.
    var isStalled: Bool {
        if case .stall(let limit) = handling { count >= limit } else { false }
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
